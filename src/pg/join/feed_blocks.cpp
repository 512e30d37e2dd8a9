#include "pg/join/feed_blocks.hpp"

#include "pg/base/engine.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {
namespace {

// Returns whether the sets of an input go to the engine as they are, whatever their rows' other columns are.
bool takes_plain_sets(const JoinState *state, const JoinInput &input) {
  return input.blocks != nullptr && state->engine != nullptr && state->streamed == nullptr &&
         state->weighted == nullptr && state->key_count == 0;
}

// Gives the set of an array if it has elements and no flaw.
bool view_plain_array(Datum datum, TokenType type, SetView *set) {
  auto *array = reinterpret_cast<ArrayType *>(DatumGetPointer(datum));
  return !VARATT_IS_EXTENDED(array) && ARR_NDIM(array) == 1 && !ARR_HASNULL(array) &&
         view_plain_set(array, type, set) && set->count > 0;
}

void store_block_row(JoinInput *input, const BlockRow &row) {
  if (input->reader.store == nullptr) return;
  for (int i = 0; i < input->kept_count; ++i) {
    input->values[i] = row.value(input->kept[i], TupleDescAttr(input->descriptor, i)->attbyval);
    input->nulls[i] = false;
  }
  append_row(input->reader.store, input->values, input->nulls);
}

// Feeds the next rows, at most as many as `sets` has room for, and returns how many.
uint32_t feed_some_rows(JoinState *state, Side side, SetView *sets) {
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  BlockReader *reader = &input->blocks->reader;
  const AttrNumber column = state->facts.set_column[static_cast<int>(side)];
  const uint32_t most = Min(most_fed_sets, no_row - input->row_count);
  uint32_t count = 0;
  for (BlockRow row; count < most && look_at_block_row(*reader, &row); ++count) {
    if (!view_plain_array(row.value(column, false), state->facts.token_type, &sets[count])) break;
    store_block_row(input, row);
    pass_block_row(reader, row);
  }
  feed_sets(state->engine, side, sets, count);
  end_rows(state->engine, count, &state->spill_file);
  input->row_count += count;
  return count;
}

}  // namespace

void feed_rows_of_block(JoinState *state, Side side) {
  if (!takes_plain_sets(state, state->inputs[static_cast<int>(side)])) return;
  SetView sets[most_fed_sets];
  while (feed_some_rows(state, side, sets) > 0) CHECK_FOR_INTERRUPTS();
}

}  // namespace simjoin::pg
