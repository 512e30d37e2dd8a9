#include "pg/sets/weights.hpp"

extern "C" {
#include "catalog/pg_type.h"
}

#include "core/base/weight.hpp"
#include "pg/base/interruptible.hpp"

namespace simjoin::pg {

namespace {

const float *elements(ArrayType *array) {
  return reinterpret_cast<const float *>(ARR_DATA_PTR(array));
}

}  // namespace

WeightFlaw flaw_of_weights(ArrayType *array, uint32_t tokens) {
  WeightFlaw flaw = {};
  flaw.number = dimensions_of_flawed(array);
  if (flaw.number > 0) {
    flaw.kind = WeightFlaw::Kind::array;
    return flaw;
  }
  flaw.number = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (static_cast<uint32_t>(flaw.number) != tokens) {
    flaw.kind = WeightFlaw::Kind::count;
    flaw.tokens = tokens;
    return flaw;
  }
  const float *weights = elements(array);
  InterruptCounter interrupts;
  for (uint32_t i = 0; i < tokens; ++i) {
    interrupts.add(1);
    if (is_weight(weights[i])) continue;
    flaw.kind = WeightFlaw::Kind::number;
    flaw.number = static_cast<int32>(i + 1);
    flaw.weight = weights[i];
    return flaw;
  }
  return flaw;
}

void raise_weight_flaw(const char *function, const WeightFlaw &flaw) {
  if (flaw.kind == WeightFlaw::Kind::array)
    raise_not_plain(flaw.number, function, "weights",
                    "Use array_replace(weights, NULL, 0) if a missing weight is 0.");
  if (flaw.kind == WeightFlaw::Kind::count)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("%s: %u tokens with %d weights", function, flaw.tokens, flaw.number),
                    errhint("Give one weight for each token, in the same order.")));
  ereport(ERROR,
          (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
           errmsg("%s: weight number %d is %g", function, flaw.number, static_cast<double>(flaw.weight)),
           errhint("Weights are finite numbers that are not negative.")));
  pg_unreachable();
}

const float *view_weights(ArrayType *array, const SetView &set, const char *function) {
  if (ARR_ELEMTYPE(array) != FLOAT4OID) elog(ERROR, "%s: weights are not real[]", function);
  const WeightFlaw flaw = flaw_of_weights(array, set.count);
  if (flaw.kind != WeightFlaw::Kind::none) raise_weight_flaw(function, flaw);
  return elements(array);
}

}  // namespace simjoin::pg
