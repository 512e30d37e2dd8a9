// Rows of values that are passed by value, packed without gaps: a few bytes each.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
}

namespace simjoin::pg {

// The columns of a packed row are those of the descriptor, perhaps without one of them, numbered from 0.
inline constexpr int all_columns = -1;

// Returns the bytes of a packed row. Returns 0 where a column is not passed by value, and without columns.
uint32_t packed_row_bytes(TupleDesc descriptor, int without);

// Both leave the values and NULLs of the column `without` alone.
void pack_row(TupleDesc descriptor, int without, const Datum *values, const bool *nulls, char *row);
void unpack_row(TupleDesc descriptor, int without, const char *row, Datum *values, bool *nulls);

}  // namespace simjoin::pg
