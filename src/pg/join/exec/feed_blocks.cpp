#include "pg/join/exec/feed_blocks.hpp"

#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/computation/engine.hpp"
#include "pg/join/exec/inputs.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

// The most sets of a block that are fed at a time as they lie in their arrays.
constexpr uint32_t most_fed_sets = 256;

// Returns whether the sets of an input go to the engine as they are, whatever their rows' other columns are.
bool takes_plain_sets(const JoinState *state, const JoinInput &input) {
  return input.blocks != nullptr && state->engine.join != nullptr && !state->engine.streamed &&
         !state->facts.weighted() && state->inputs.key_count == 0;
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
    const bool by_value = TupleDescAttr(input->descriptor, i)->attbyval;
    input->values[i] = block_value(&input->blocks->reader, row, input->kept[i], by_value);
    input->nulls[i] = false;
  }
  append_row(input->reader.store, input->values, input->nulls);
}

// Returns whether the rows that are kept are packed as those of the blocks.
bool keeps_packed_rows(const JoinInput &input) {
  const ApartSets &apart = input.blocks->reader.apart;
  if (input.kept_count != apart.columns->natts - 1) return false;
  for (int i = 0; i < input.kept_count; ++i)
    if (input.kept[i] != i + (i < apart.column ? 1 : 2)) return false;
  return true;
}

// Feeds the block's packed rows, which are the next ones, and returns how many.
uint32_t feed_packed_rows(JoinState *state, Side side) {
  JoinInput *input = &state->inputs[side];
  BlockReader *reader = &input->blocks->reader;
  RowStore *store = input->reader.store;
  const SetSlice rows = packed_sets(*reader, no_row - input->row_count);
  if (rows.rows == 0) return 0;
  if (store == nullptr || keeps_packed_rows(*input)) {
    if (store != nullptr) append_packed_rows(store, reader->packed, rows.rows);
    pass_packed_rows(reader, rows);
  } else {
    for (uint32_t i = 0; i < rows.rows; ++i) {
      read_block_row(reader);
      read_kept_columns(input, reader->slot);
      append_row(store, input->values, input->nulls);
    }
  }
  call_cpp([&] { state->engine.join->add(side, rows); });
  return rows.rows;
}

// Feeds the next rows of the block, as many as have sets that lie apart, and returns how many.
uint32_t feed_rows_apart(JoinState *state, Side side) {
  JoinInput *input = &state->inputs[side];
  BlockReader *reader = &input->blocks->reader;
  SetSlice rows = {reader->apart.type, reader->elements, reader->length};
  const uint32_t most = no_row - input->row_count;
  for (BlockRow row; rows.rows < most && look_at_block_row(*reader, &row) && row.apart; ++rows.rows) {
    store_block_row(input, row);
    rows.token_count += *reader->length;
    pass_block_row(reader, row);
  }
  if (rows.rows > 0) call_cpp([&] { state->engine.join->add(side, rows); });
  return rows.rows;
}

// Feeds the next rows of the block, at most as many as `sets` has room for, and returns how many.
uint32_t feed_some_rows(JoinState *state, Side side, SetView *sets) {
  JoinInput *input = &state->inputs[side];
  BlockReader *reader = &input->blocks->reader;
  const AttrNumber column = state->facts.set_column[static_cast<int>(side)];
  const uint32_t most = Min(most_fed_sets, no_row - input->row_count);
  uint32_t count = 0;
  for (BlockRow row; count < most && look_at_block_row(*reader, &row); ++count) {
    if (row.apart ||
        !view_plain_array(block_value(reader, row, column, false), state->facts.token_type, &sets[count]))
      break;
    store_block_row(input, row);
    pass_block_row(reader, row);
  }
  feed_sets(state->engine.join, side, sets, count);
  return count;
}

}  // namespace

void feed_rows_of_block(JoinState *state, Side side) {
  JoinInput *input = &state->inputs[side];
  if (!takes_plain_sets(state, *input)) return;
  SetView sets[most_fed_sets];
  uint32_t count;
  do {
    count = feed_packed_rows(state, side);
    if (count == 0) count = feed_rows_apart(state, side);
    if (count == 0) count = feed_some_rows(state, side, sets);
    end_rows(state->engine.join, count, &state->engine.spill_file);
    input->row_count += count;
    check_interrupts();
  } while (count > 0);
}

}  // namespace simjoin::pg
