// SQL statements that a function runs as the current user.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace simjoin::pg {

// Connects to SPI. The caller ends that with SPI_finish.
void connect_spi();

// Errors where the result of an SPI function is an error code.
void check_spi(int result);

// Returns the statement's plan for parameters of these types.
SPIPlanPtr prepare_statement(const char *statement, int parameters, Oid *types);

// Runs one or more statements. Only a single statement may have parameters, $1 and so on.
void execute_statement(const char *statement, int parameters = 0, Oid *types = nullptr,
                       Datum *values = nullptr);

// Sets a setting until the current nesting level of settings ends.
void set_until_end(const char *name, const char *value);

}  // namespace simjoin::pg
