#include "pg/join/exec/null_pairs.hpp"

extern "C" {
#include "executor/executor.h"
}

#include "pg/base/interrupts.hpp"
#include "pg/join/exec/scan_tuple.hpp"

namespace simjoin::pg {
namespace {

// Lists the right rows that have no set.
void list_right_rows(JoinState *state) {
  const JoinInput &right = state->inputs[Side::right];
  state->null_pairs.right_rows = GrowingArray<uint32_t>(state->context);
  for (uint32_t row = 0; row < right.row_count; ++row) {
    if (row % 4096 == 0) check_interrupts();
    if (has_row(right.without_set, row)) state->null_pairs.right_rows.append(row);
  }
  state->null_pairs.listed = true;
}

// Takes the next pair: a left row without a set with all right rows, any other with those without one.
bool take_null_pair(JoinState *state, JoinPair *pair) {
  NullPairs *nulls = &state->null_pairs;
  const JoinInput &left = state->inputs[Side::left], &right = state->inputs[Side::right];
  for (; state->next_row < left.row_count; ++state->next_row, nulls->partner = 0) {
    if (state->next_row % 4096 == 0) check_interrupts();
    const bool all = has_row(left.without_set, state->next_row);
    const uint32_t partners = all ? right.row_count : static_cast<uint32_t>(nulls->right_rows.size());
    if (nulls->partner == partners) continue;
    const uint32_t partner = all ? nulls->partner : nulls->right_rows[nulls->partner];
    ++nulls->partner;
    *pair = {state->next_row, partner, unknown_overlap};
    return true;
  }
  return false;
}

}  // namespace

bool next_null_pair(JoinState *state) {
  if (!state->search.nulls) return false;
  if (!state->null_pairs.listed) list_right_rows(state);
  JoinPair pair;
  while (take_null_pair(state, &pair)) {
    check_interrupts();
    ResetExprContext(state->css.ss.ps.ps_ExprContext);
    fill_scan_tuple(state, pair);
    if (ExecQual(state->join_quals, state->css.ss.ps.ps_ExprContext)) return true;
    InstrCountFiltered1(&state->css.ss.ps, 1);
  }
  return false;
}

}  // namespace simjoin::pg
