#include "pg/nearest/near_set.hpp"

extern "C" {
#include "executor/executor.h"
}

#include "pg/base/arguments.hpp"
#include "pg/nearest/state.hpp"
#include "pg/sets/weighted_set.hpp"

namespace simjoin::pg {

NearSet evaluate_set(const NearestRowsFacts &facts, const NearSetExprs &exprs, ExprContext *context) {
  NearSet found = {};
  const Datum set = ExecEvalExprSwitchContext(exprs.set, context, &found.isnull);
  Datum weights = 0;
  if (exprs.weights != nullptr && !found.isnull)
    weights = ExecEvalExprSwitchContext(exprs.weights, context, &found.isnull);
  if (found.isnull) return found;
  MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
  ArrayType *array = DatumGetArrayTypeP(set);
  found.dimensions = dimensions_of_flawed(array);
  if (found.dimensions == 0 && !view_plain_set(array, facts.token_type, &found.view))
    found.view = view_set(PointerGetDatum(array), function_of_order(facts));
  if (exprs.weights != nullptr && found.dimensions == 0) {
    ArrayType *of_tokens = DatumGetArrayTypeP(weights);
    found.flaw = flaw_of_weights(of_tokens, found.view.count);
    found.weights = reinterpret_cast<const float *>(ARR_DATA_PTR(of_tokens));
  }
  MemoryContextSwitchTo(old);
  return found;
}

void raise_flaw_of_set(const NearestRowsFacts &facts, const NearSet &set) {
  if (set.dimensions > 0) raise_flawed(function_of_order(facts), set.dimensions);
  raise_weight_flaw(function_of_order(facts), set.flaw);
}

void feed_keyed_set(NearestRowsState *state, Side side, const NearSet &set, uint64_t key) {
  const bool keyed = state->row_keys.count > 0;
  RowSearch *join = state->rows.join;
  if (state->facts.weighted)
    feed_weighted_set(join, side, set.view, set.weights, keyed ? &key : nullptr);
  else if (keyed)
    feed_partitioned_set(join, side, set.view, key);
  else
    feed_set(join, side, set.view);
}

const char *function_of_order(const NearestRowsFacts &facts) {
  if (facts.weighted) return weighted_function(facts.measure);
  return facts.distance ? "jaccard_distance" : measure_function(facts.measure);
}

}  // namespace simjoin::pg
