#include "pg/join/exec/scan_tuple.hpp"

extern "C" {
#include "executor/executor.h"
}

#include <utility>

#include "pg/join/exec/inputs.hpp"

namespace simjoin::pg {
namespace {

// Gets the kept columns of a row.
void load_row(JoinInput *input, uint32_t row) {
  if (input->slot != nullptr) {
    read_kept_columns(input, input->slot);
  } else {
    read_row(&input->reader, row, input->values, input->nulls);
  }
}

// Exchanges the rows that are read, in a join of the same rows, whose inputs keep the same columns.
void swap_rows(JoinInput *left, JoinInput *right) {
  std::swap(left->current_row, right->current_row);
  std::swap(left->values, right->values);
  std::swap(left->nulls, right->nulls);
  std::swap(left->reader, right->reader);  // values may be in its memory
}

// Fills the scan tuple's columns of one side: from the row, or with NULLs for no_row.
void fill_side(JoinState *state, JoinInput *input, uint32_t row) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  if (input->used_count == 0) return;
  if (row != no_row && row != input->current_row) load_row(input, row);
  input->current_row = row;
  for (int i = 0; i < input->used_count; ++i) {
    const int kept = input->kept_columns[i];
    slot->tts_values[input->scan_columns[i]] = row == no_row ? static_cast<Datum>(0) : input->values[kept];
    slot->tts_isnull[input->scan_columns[i]] = row == no_row || input->nulls[kept];
  }
}

// Returns the similarity, or the distance, of a pair that has both rows.
Datum similarity_of(const JoinState *state, const JoinPair &pair) {
  if (state->facts.weighted()) {
    const bool same_row = state->facts.read_once && pair.left == pair.right;
    return Float8GetDatum(same_row ? own_similarity(state, pair.left) : pair.similarity);
  }
  uint32_t l = 1, r = 1, overlap = 1;
  if (!state->facts.read_once || pair.left != pair.right || !same_rows_are_alike(state)) {
    l = state->engine.join->set_size(Side::left, pair.left);
    r = state->engine.join->set_size(state->facts.read_once ? Side::left : Side::right, pair.right);
    overlap = pair.overlap;
  }
  if (state->facts.distance) return Float8GetDatum(jaccard_distance(overlap, l, r));
  if (state->terms.measure == Measure::overlap) return Int32GetDatum(static_cast<int32>(overlap));
  return Float8GetDatum(similarity(state->terms.measure, overlap, l, r));
}

void fill_similarity(JoinState *state, const JoinPair &pair) {
  if (state->similarity_count == 0) return;
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  const bool isnull = pair.left == no_row || pair.right == no_row || pair.overlap == unknown_overlap;
  const Datum value = isnull ? static_cast<Datum>(0) : similarity_of(state, pair);
  for (int i = 0; i < state->similarity_count; ++i) {
    slot->tts_values[state->similarity_columns[i]] = value;
    slot->tts_isnull[state->similarity_columns[i]] = isnull;
  }
}

}  // namespace

bool same_rows_are_alike(const JoinState *state) {
  return state->terms.measure != Measure::overlap && state->terms.threshold > 0;
}

double own_similarity(const JoinState *state, uint32_t row) {
  return has_row(state->inputs[Side::left].weightless, row) ? 0 : 1;
}

void fill_scan_tuple(JoinState *state, const JoinPair &pair) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  JoinInput *left = &state->inputs[Side::left], *right = &state->inputs[Side::right];
  ExecClearTuple(slot);
  if (state->facts.read_once && (pair.left == right->current_row || pair.right == left->current_row))
    swap_rows(left, right);
  fill_side(state, left, pair.left);
  fill_side(state, right, pair.right);
  fill_similarity(state, pair);
  ExecStoreVirtualTuple(slot);
  state->css.ss.ps.ps_ExprContext->ecxt_scantuple = slot;
}

}  // namespace simjoin::pg
