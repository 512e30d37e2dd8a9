#include "pg/join/row_set.hpp"

extern "C" {
#include "common/hashfn.h"
}

#include "pg/base/interruptible.hpp"
#include "pg/base/weighted_set.hpp"
#include "pg/join/aside.hpp"

namespace simjoin::pg {
namespace {

// Gives a hash of the partition keys. Returns false where a key is NULL, so that the row matches nothing.
bool hash_keys(JoinState *state, Side side, TupleTableSlot *slot, uint64_t *partition) {
  const int s = static_cast<int>(side);
  uint64_t hash = 0;
  for (int i = 0; i < state->key_count; ++i) {
    bool isnull;
    Datum key = slot_getattr(slot, state->keys[i].column[s], &isnull);
    if (isnull) return false;
    Datum value = FunctionCall1Coll(&state->key_hash[s][i], state->keys[i].collation, key);
    hash = hash_combine64(hash, hash_bytes_uint32_extended(DatumGetUInt32(value), 0));
  }
  *partition = hash;
  return true;
}

// Looks at the weights of a row whose tokens are a set. They have been detoasted.
void take_weights(ArrayType *weights, RowSet *set) {
  ArrayType *tokens = DatumGetArrayTypeP(set->array);
  const auto count = static_cast<uint32_t>(ArrayGetNItems(ARR_NDIM(tokens), ARR_DIMS(tokens)));
  set->flaw.weights = flaw_of_weights(weights, count);
  set->weights = reinterpret_cast<const float *>(ARR_DATA_PTR(weights));
}

}  // namespace

RowSet set_of_row(JoinState *state, Side side, TupleTableSlot *slot, const JoinInput *partners) {
  RowSet set = {};
  const int s = static_cast<int>(side);
  set.array = slot_getattr(slot, state->facts.set_column[s], &set.isnull);
  Datum weights = 0;
  if (state->facts.weighted() && !set.isnull)
    weights = slot_getattr(slot, state->facts.weights_column[s], &set.isnull);
  if (set.isnull || !hash_keys(state, side, slot, &set.partition)) return set;
  if (partners != nullptr && !may_have_keys(state, *partners, set.partition)) return set;
  ArrayType *array = DatumGetArrayTypeP(set.array);
  set.array = PointerGetDatum(array);
  set.flaw.dimensions = dimensions_of_flawed(array);
  if (state->facts.weighted() && set.flaw.none()) take_weights(DatumGetArrayTypeP(weights), &set);
  set.joins = true;
  return set;
}

void feed_set_of_row(JoinState *state, Side side, const RowSet &set) {
  const SetView view = view_set(set.array, clause_function(state->facts));
  if (state->weighted != nullptr)
    return feed_weighted_set(state->weighted, side, view, set.weights,
                             state->key_count == 0 ? nullptr : &set.partition);
  if (state->key_count == 0) {
    feed_set(state->engine, side, view);
  } else {
    feed_partitioned_set(state->engine, side, view, set.partition);
  }
}

bool has_weight(const JoinState *state, const RowSet &set) {
  ArrayType *array = DatumGetArrayTypeP(set.array);
  const int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
  if (!state->facts.weighted()) return count > 0;
  InterruptCounter interrupts;
  for (int i = 0; i < count; ++i) {
    interrupts.add(1);
    if (set.weights[i] > 0) return true;
  }
  return false;
}

}  // namespace simjoin::pg
