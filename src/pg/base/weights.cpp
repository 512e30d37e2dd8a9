#include "pg/base/weights.hpp"

extern "C" {
#include "catalog/pg_type.h"
}

#include <cmath>

#include "pg/base/interruptible.hpp"

namespace simjoin::pg {

const float *view_weights(ArrayType *array, const SetView &set, const char *function) {
  if (ARR_ELEMTYPE(array) != FLOAT4OID) elog(ERROR, "%s: weights are not real[]", function);
  check_plain_array(array, function, "weights",
                    "Use array_replace(weights, NULL, 0) if a missing weight is 0.");
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (static_cast<uint32_t>(count) != set.count)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s: %u tokens with %d weights", function, set.count, count),
                    errhint("Give one weight for each token, in the same order.")));
  const auto *weights = reinterpret_cast<const float *>(ARR_DATA_PTR(array));
  InterruptCounter interrupts;
  for (int i = 0; i < count; ++i) {
    interrupts.add(1);
    if (std::isfinite(weights[i]) && weights[i] >= 0) continue;
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("%s: weight number %d is %g", function, i + 1, static_cast<double>(weights[i])),
                    errhint("Weights are finite numbers that are not negative.")));
  }
  return weights;
}

}  // namespace simjoin::pg
