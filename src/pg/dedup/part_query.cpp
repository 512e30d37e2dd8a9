#include "pg/dedup/part_query.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
}

#include "pg/base/growing_array.hpp"

namespace simjoin::pg {

Datum bigint_array(const Datum *values, size_t count) {
  return PointerGetDatum(construct_array(const_cast<Datum *>(values), static_cast<int>(count), INT8OID,
                                         sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

ParamListInfo ids_parameter(IdList ids) {
  auto *values = allocate<Datum>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) values[i] = Int64GetDatum(ids[i]);
  ParamListInfo parameters = makeParamList(1);
  parameters->params[0] = {bigint_array(values, ids.size()), false, PARAM_FLAG_CONST, INT8ARRAYOID};
  pfree(values);
  return parameters;
}

void free_ids_parameter(ParamListInfo parameter) {
  pfree(DatumGetPointer(parameter->params[0].value));
  pfree(parameter);
}

}  // namespace simjoin::pg
