#include "pg/dedup/part_query.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
}

#include "pg/base/interruptible.hpp"
#include "pg/base/query_receiver.hpp"

namespace simjoin::pg {
namespace {

// Gives the rows of a query over a part to its receiver.
struct PartReceiver {
  DestReceiver receiver;
  const PartQuery *query;
};

}  // namespace

Datum bigint_array(const Datum *values, size_t count) {
  return PointerGetDatum(construct_array(const_cast<Datum *>(values), static_cast<int>(count), INT8OID,
                                         sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

ParamListInfo ids_parameter(IdList ids) {
  auto *values = allocate<Datum>(ids.count);
  for (size_t i = 0; i < ids.count; ++i) values[i] = Int64GetDatum(ids.ids[i]);
  ParamListInfo parameters = makeParamList(1);
  parameters->params[0] = {bigint_array(values, ids.count), false, PARAM_FLAG_CONST, INT8ARRAYOID};
  pfree(values);
  return parameters;
}

void free_ids_parameter(ParamListInfo parameter) {
  pfree(DatumGetPointer(parameter->params[0].value));
  pfree(parameter);
}

void execute_statement(const char *statement, int parameters, Oid *types, Datum *values) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const int result = SPI_execute_with_args(statement, parameters, types, values, nullptr, false, 0);
  if (result < 0) elog(ERROR, "%s", SPI_result_code_string(result));
  SPI_finish();
}

void run_over_part(const PartQuery &query, const char *function, ParamListInfo parameters) {
  PartReceiver receiver = {};
  receiver.receiver.receiveSlot = [](TupleTableSlot *slot, DestReceiver *self) {
    const PartQuery *receiving = reinterpret_cast<PartReceiver *>(self)->query;
    receiving->receive(receiving->context, {slot, receiving->part});
    return true;
  };
  receiver.query = &query;
  run_query(query.query, &receiver.receiver, function, parameters);
}

void run_for_ids(const PartQuery &query, IdList ids, const char *function) {
  for_parts(ids, [&](ParamListInfo parameters) { run_over_part(query, function, parameters); });
}

void run_for_ids_at_once(const PartQuery &query, IdList ids, const char *function) {
  run_over_part(query, function, ids_parameter(ids));
}

}  // namespace simjoin::pg
