#include "pg/dedup/part_query.hpp"

#include "pg/sets/arrays.hpp"

namespace simjoin::pg {

ParamListInfo ids_parameter(IdList ids) {
  const auto array = make_array<int64>(ids.size());
  std::copy(ids.begin(), ids.end(), array.elements);
  ParamListInfo parameters = makeParamList(1);
  parameters->params[0] = {array.datum(), false, PARAM_FLAG_CONST, INT8ARRAYOID};
  return parameters;
}

void free_ids_parameter(ParamListInfo parameter) {
  pfree(DatumGetPointer(parameter->params[0].value));
  pfree(parameter);
}

}  // namespace simjoin::pg
