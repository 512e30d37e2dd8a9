#include "pg/base/query_receiver.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace simjoin::pg {

void run_query(const char *query, DestReceiver *receiver, const char *function, ParamListInfo parameters) {
  if (receiver->rStartup == nullptr) receiver->rStartup = [](DestReceiver *, int, TupleDesc) {};
  receiver->rShutdown = [](DestReceiver *) {};
  receiver->rDestroy = [](DestReceiver *) {};
  receiver->mydest = DestTuplestore;  // anything but what SPI handles itself
  SPIExecuteOptions options = {};
  options.params = parameters;
  options.read_only = true;
  options.must_return_tuples = true;
  options.dest = receiver;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "%s: SPI_connect failed", function);
  const int result = SPI_execute_extended(query, &options);
  if (result < 0) elog(ERROR, "%s: %s", function, SPI_result_code_string(result));
  SPI_finish();
}

void check_single_statement(bool *started, const char *function) {
  if (*started)
    ereport(ERROR,
            (errcode(ERRCODE_SYNTAX_ERROR), errmsg("%s: a query must be a single statement", function)));
  *started = true;
}

const char *describe_columns(TupleDesc columns) {
  StringInfoData text;
  initStringInfo(&text);
  for (int i = 0; i < columns->natts; ++i) {
    const FormData_pg_attribute *column = TupleDescAttr(columns, i);
    appendStringInfo(&text, "%s%s %s", i == 0 ? "(" : ", ", NameStr(column->attname),
                     format_type_be(column->atttypid));
  }
  appendStringInfoString(&text, columns->natts == 0 ? "()" : ")");
  return text.data;
}

bool is_id_type(Oid type) {
  const Oid base = getBaseType(type);
  return base == INT2OID || base == INT4OID || base == INT8OID;
}

int64 id_of(Datum value, Oid type) {
  switch (type) {
    case INT2OID:
      return DatumGetInt16(value);
    case INT4OID:
      return DatumGetInt32(value);
  }
  return DatumGetInt64(value);
}

}  // namespace simjoin::pg
