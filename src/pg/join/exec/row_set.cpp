#include "pg/join/exec/row_set.hpp"

extern "C" {
#include "common/hashfn.h"
}

#include "pg/base/interruptible.hpp"
#include "pg/sets/weighted_set.hpp"

namespace simjoin::pg {
namespace {

// The slots of a bitmap of keys, which is looked at before pairs are. Its 32 kB tell some ten thousand keys
// apart, mostly.
constexpr uint32_t key_slots = 1U << 18;

uint32_t key_slot(uint64_t partition) {
  return static_cast<uint32_t>(partition % key_slots);
}

// Gives a hash of the partition keys. Returns false where a key is NULL, so that the row matches nothing.
bool hash_keys(JoinState *state, Side side, TupleTableSlot *slot, uint64_t *partition) {
  const int s = static_cast<int>(side);
  uint64_t hash = 0;
  for (int i = 0; i < state->inputs.key_count; ++i) {
    bool isnull;
    Datum key = slot_getattr(slot, state->inputs.keys[i].column[s], &isnull);
    if (isnull) return false;
    Datum value = FunctionCall1Coll(&state->inputs.key_hash[s][i], state->inputs.keys[i].collation, key);
    hash = hash_combine64(hash, hash_bytes_uint32_extended(DatumGetUInt32(value), 0));
  }
  *partition = hash;
  return true;
}

// Looks at the tokens of a row, which have been detoasted.
void take_tokens(const JoinState *state, ArrayType *tokens, RowSet *set) {
  set->flaw.dimensions = dimensions_of_flawed(tokens);
  if (set->flaw.dimensions == 0 && !view_plain_set(tokens, state->facts.token_type, &set->tokens))
    set->tokens = view_set(PointerGetDatum(tokens), clause_function(state->facts));
}

// Looks at the weights of a row whose tokens are a set. They have been detoasted.
void take_weights(ArrayType *weights, RowSet *set) {
  set->flaw.weights = flaw_of_weights(weights, set->tokens.count);
  set->weights = reinterpret_cast<const float *>(ARR_DATA_PTR(weights));
}

}  // namespace

void note_keys(JoinState *state, JoinInput *input, uint64_t partition) {
  if (state->inputs.key_count == 0) return;
  reserve_rows(state->context, &input->key_slots, key_slots - 1);
  set_row(&input->key_slots, key_slot(partition));
}

bool may_have_keys(const JoinState *state, const JoinInput &input, uint64_t partition) {
  return state->inputs.key_count == 0 || has_row(input.key_slots, key_slot(partition));
}

RowSet set_of_row(JoinState *state, Side side, TupleTableSlot *slot) {
  RowSet set = {};
  const int s = static_cast<int>(side);
  const Datum tokens = slot_getattr(slot, state->facts.set_column[s], &set.isnull);
  Datum weights = 0;
  if (state->facts.weighted() && !set.isnull)
    weights = slot_getattr(slot, state->facts.weights_column[s], &set.isnull);
  if (set.isnull || !hash_keys(state, side, slot, &set.partition)) return set;
  const bool streams = state->inputs[side].slot != nullptr;
  if (streams && !may_have_keys(state, state->inputs[opposite(side)], set.partition)) return set;
  take_tokens(state, DatumGetArrayTypeP(tokens), &set);
  if (state->facts.weighted() && set.flaw.none()) take_weights(DatumGetArrayTypeP(weights), &set);
  set.joins = true;
  return set;
}

void feed_set_of_row(JoinState *state, Side side, const RowSet &set) {
  if (state->facts.weighted())
    return feed_weighted_set(state->engine.join, side, set.tokens, set.weights,
                             state->inputs.key_count == 0 ? nullptr : &set.partition);
  if (state->inputs.key_count == 0) {
    feed_set(state->engine.join, side, set.tokens);
  } else {
    feed_partitioned_set(state->engine.join, side, set.tokens, set.partition);
  }
}

bool has_weight(const JoinState *state, const RowSet &set) {
  if (!state->facts.weighted()) return set.tokens.count > 0;
  InterruptCounter interrupts;
  for (uint32_t i = 0; i < set.tokens.count; ++i) {
    interrupts.add(1);
    if (set.weights[i] > 0) return true;
  }
  return false;
}

}  // namespace simjoin::pg
