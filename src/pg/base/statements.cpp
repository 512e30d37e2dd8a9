#include "pg/base/statements.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace simjoin::pg {

void connect_spi() {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
}

void check_spi(int result) {
  if (result < 0) elog(ERROR, "%s", SPI_result_code_string(result));
}

SPIPlanPtr prepare_statement(const char *statement, int parameters, Oid *types) {
  SPIPlanPtr plan = SPI_prepare(statement, parameters, types);
  if (plan == nullptr) check_spi(SPI_result);
  return plan;
}

void execute_statement(const char *statement, int parameters, Oid *types, Datum *values) {
  connect_spi();
  check_spi(SPI_execute_with_args(statement, parameters, types, values, nullptr, false, 0));
  SPI_finish();
}

void set_until_end(const char *name, const char *value) {
  set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

}  // namespace simjoin::pg
