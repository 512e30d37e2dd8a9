#include "pg/join/exec/inputs.hpp"

extern "C" {
#include "executor/executor.h"
}

#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

// Returns whether a column of the scan tuple is needed and comes from this side.
bool is_used_column(const JoinState *state, Side side, const Bitmapset *used, int column) {
  const ColumnSource source = side == Side::left ? ColumnSource::left : ColumnSource::right;
  return state->columns[column].source == source && bms_is_member(column, used);
}

// Returns the child's output columns that are needed of this side.
Bitmapset *needed_columns(const JoinState *state, Side side, const Bitmapset *used) {
  Bitmapset *columns = nullptr;
  for (int i = 0; i < state->column_count; ++i)
    if (is_used_column(state, side, used, i))
      columns = bms_add_member(columns, state->columns[i].child_column);
  return columns;
}

// Lists the child's output columns that are kept, ascending as in blocks, and which of them go to which used
// columns of the scan tuple.
void init_columns(JoinState *state, Side side, const Bitmapset *used, Bitmapset *kept) {
  JoinInput *input = &state->inputs[side];
  input->kept = static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * Max(bms_num_members(kept), 1)));
  for (int column = -1; (column = bms_next_member(kept, column)) >= 0;)
    input->kept[input->kept_count++] = static_cast<AttrNumber>(column);
  input->scan_columns = static_cast<int *>(palloc(sizeof(int) * state->column_count));
  input->kept_columns = static_cast<int *>(palloc(sizeof(int) * state->column_count));
  for (int i = 0; i < state->column_count; ++i) {
    if (!is_used_column(state, side, used, i)) continue;
    input->scan_columns[input->used_count] = i;
    input->kept_columns[input->used_count++] = bms_member_index(kept, state->columns[i].child_column);
  }
}

// Describes the rows that are kept of an input.
void init_kept_rows(JoinInput *input) {
  TupleDesc from = ExecGetResultType(input->blocks == nullptr ? input->child : input->blocks->rows);
  input->descriptor = CreateTemplateTupleDesc(input->kept_count);
  for (int i = 0; i < input->kept_count; ++i)
    TupleDescCopyEntry(input->descriptor, static_cast<AttrNumber>(i + 1), from, input->kept[i]);
  input->values = static_cast<Datum *>(palloc(sizeof(Datum) * Max(input->kept_count, 1)));
  input->nulls = static_cast<bool *>(palloc(sizeof(bool) * Max(input->kept_count, 1)));
}

void init_keys(JoinState *state, const CustomScan *plan) {
  state->inputs.keys = read_partition_keys(plan, &state->inputs.key_count);
  for (int side = 0; side < 2; ++side) {
    state->inputs.key_hash[side] =
        static_cast<FmgrInfo *>(palloc(sizeof(FmgrInfo) * Max(state->inputs.key_count, 1)));
    for (int i = 0; i < state->inputs.key_count; ++i)
      fmgr_info(state->inputs.keys[i].hash_function[side], &state->inputs.key_hash[side][i]);
  }
}

}  // namespace

TupleTableSlot *next_row(JoinInput *input) {
  check_interrupts();
  if (input->blocks != nullptr) return next_block_row(input->blocks);
  TupleTableSlot *slot = ExecProcNode(input->child);
  return TupIsNull(slot) ? nullptr : slot;
}

void read_kept_columns(JoinInput *input, TupleTableSlot *slot) {
  for (int i = 0; i < input->kept_count; ++i)
    input->values[i] = slot_getattr(slot, input->kept[i], &input->nulls[i]);
}

void init_block_inputs(JoinState *state, EState *estate) {
  for (int side = 0; side < (state->facts.read_once ? 1 : 2); ++side) {
    JoinInput *input = &state->inputs.sides[side];
    List *arrays = list_make1_int(state->facts.set_column[side]);
    if (state->facts.weighted()) arrays = lappend_int(arrays, state->facts.weights_column[side]);
    input->blocks = init_block_input(input->child, estate, arrays, state->context);
    if (input->blocks == nullptr) continue;
    // The arrays are in a block once more, detoasted, after the other columns.
    auto columns = static_cast<AttrNumber>(ExecGetResultType(input->blocks->rows)->natts);
    state->facts.set_column[side] = ++columns;
    if (state->facts.weighted()) state->facts.weights_column[side] = ++columns;
  }
  if (state->facts.read_once) state->inputs[Side::right].blocks = state->inputs[Side::left].blocks;
}

void init_inputs(JoinState *state, const CustomScan *plan, Bitmapset *used) {
  init_keys(state, plan);
  Bitmapset *left = needed_columns(state, Side::left, used),
            *right = needed_columns(state, Side::right, used);
  if (state->facts.read_once) left = right = bms_union(left, right);
  init_columns(state, Side::left, used, left);
  init_columns(state, Side::right, used, right);
  init_kept_rows(&state->inputs[Side::left]);
  init_kept_rows(&state->inputs[Side::right]);
}

}  // namespace simjoin::pg
