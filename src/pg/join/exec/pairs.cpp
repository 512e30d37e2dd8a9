#include "pg/join/exec/pairs.hpp"

extern "C" {
#include "executor/executor.h"
}

#include <utility>

#include "pg/base/interrupts.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/join/exec/feed.hpp"
#include "pg/join/exec/phase_log.hpp"
#include "pg/join/exec/stream.hpp"
#include "pg/work/engine.hpp"

namespace simjoin::pg {
namespace {

// The rows of a pair are prefetched this many pairs before its turn.
constexpr size_t pairs_ahead = 8;

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

// Returns whether all pairs of a row with itself are alike. They are where empty sets match nothing. Such
// pairs need not wait for the engine, which knows how many tokens a set has.
bool same_rows_are_alike(const JoinState *state) {
  return state->measure != Measure::overlap && state->threshold > 0;
}

// Returns the weighted similarity of a row with itself.
double own_similarity(const JoinState *state, uint32_t row) {
  return has_row(state->inputs[0].weightless, row) ? 0 : 1;
}

// Returns the similarity, or the distance, of a pair that has both rows.
Datum similarity_of(const JoinState *state, const JoinPair &pair) {
  if (state->facts.weighted()) {
    const bool same_row = state->facts.read_once && pair.left == pair.right;
    return Float8GetDatum(same_row ? own_similarity(state, pair.left) : pair.similarity);
  }
  uint32_t l = 1, r = 1, overlap = 1;
  if (!state->facts.read_once || pair.left != pair.right || !same_rows_are_alike(state)) {
    l = state->engine->set_size(Side::left, pair.left);
    r = state->engine->set_size(state->facts.read_once ? Side::left : Side::right, pair.right);
    overlap = pair.overlap;
  }
  if (state->facts.distance) return Float8GetDatum(jaccard_distance(overlap, l, r));
  if (state->measure == Measure::overlap) return Int32GetDatum(static_cast<int32>(overlap));
  return Float8GetDatum(similarity(state->measure, overlap, l, r));
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

// Returns whether rows wait in a temporary file, so that it matters in which order they are read.
bool reads_from_file(const JoinState *state) {
  for (const JoinInput &input : state->inputs)
    if (input.reader.store != nullptr && input.reader.store->file != nullptr) return true;
  return false;
}

// Replaces the batch by the engine's next one. Returns false at the end.
bool fetch_batch(JoinState *state) {
  instr_time start, end;
  INSTR_TIME_SET_CURRENT(start);
  const bool more = state->streamed
                        ? next_streamed_batch(state)
                        : next_batch(state->engine, &state->spill_file, state->batch, reads_from_file(state));
  INSTR_TIME_SET_CURRENT(end);
  INSTR_TIME_ACCUM_DIFF(state->engine_time, end, start);
  state->batch_position = 0;
  log_build(state);
  // The engine has a similarity that all pairs within the distance reach, and some pairs beyond it.
  if (more && state->facts.distance && state->threshold > 0)
    state->beyond += drop_beyond_distance(state->batch, state->engine, state->facts.read_once, state->limit,
                                          state->facts.strict);
  if (!more && band_join(state) != nullptr)
    report_chained_buckets(band_join(state)->lsh_stats(), "similarity join");
  return more;
}

// Returns whether the pair of different rows satisfies the clause. The engine's pairs do, but in a join of
// the same rows by an asymmetric measure perhaps only the other way round.
bool qualifies(const JoinState *state, const JoinPair &pair) {
  if (!state->facts.read_once || is_symmetric(state->measure) || pair.left == pair.right) return true;
  return similarity(state->measure, pair.overlap, state->engine->set_size(Side::left, pair.left),
                    state->engine->set_size(Side::left, pair.right)) >= state->threshold;
}

// Takes the next pair of the engine. In a join of the same rows each pair is given both ways round, unless
// end_one_way() is called after the first.
bool next_engine_pair(JoinState *state, JoinPair *pair) {
  while (state->batch_position == state->batch->size())
    if (!fetch_batch(state)) return false;
  const size_t i = state->batch_position;
  if (i + pairs_ahead < state->batch->size() && !state->other_way) {
    prefetch_row(&state->inputs[0].reader, state->batch->left[i + pairs_ahead]);
    prefetch_row(&state->inputs[1].reader, state->batch->right[i + pairs_ahead]);
  }
  *pair = {state->batch->left[i], state->batch->right[i], state->batch->overlap[i]};
  if (state->facts.weighted()) pair->similarity = state->batch->similarity[i];
  if (!state->facts.read_once) {
    ++state->batch_position;
    return true;
  }
  const bool larger_left = state->larger_first != state->other_way;
  if ((pair->left > pair->right) != larger_left) std::swap(pair->left, pair->right);
  if (state->other_way) ++state->batch_position;
  state->other_way = !state->other_way;
  return true;
}

// Gives the next row that matches itself, in a join of the same rows.
bool next_same_row(JoinState *state, JoinPair *pair) {
  const bool alike = same_rows_are_alike(state);
  while (state->next_row < state->inputs[0].row_count) {
    const uint32_t row = state->next_row++;
    if (row % 4096 == 0) check_interrupts();
    const uint32_t size = alike ? 1 : state->engine->set_size(Side::left, row);
    *pair = {row, row, size};
    // Empty sets that may match do so where every pair does.
    const double value =
        state->facts.weighted() ? own_similarity(state, row) : similarity(state->measure, size, size, size);
    if (value >= state->threshold) return true;
  }
  return false;
}

}  // namespace

void enter(JoinState *state, JoinPhase phase) {
  state->phase = phase;
  state->next_row = 0;
}

bool enter_next_pairs(JoinState *state) {
  const bool same_rows = state->facts.read_once && !state->facts.skip_same_row;
  const bool alike = same_rows_are_alike(state);
  const JoinPhase first = same_rows && alike ? JoinPhase::same_row : JoinPhase::pairs;
  const JoinPhase last = same_rows && !alike ? JoinPhase::same_row : JoinPhase::pairs;
  if (state->phase == last) return false;
  enter(state, state->phase == JoinPhase::feed ? first : last);
  return true;
}

void end_one_way(JoinState *state, const JoinPair &pair) {
  if (state->other_way) {
    const JoinPair other = {pair.right, pair.left, pair.overlap, pair.similarity};
    if (qualifies(state, other)) InstrCountFiltered1(&state->css.ss.ps, 1);  // as if it had been looked at
    ++state->batch_position;
  }
  state->other_way = false;
  state->larger_first = pair.left > pair.right;
}

void fill_scan_tuple(JoinState *state, const JoinPair &pair) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  JoinInput *left = &state->inputs[0], *right = &state->inputs[1];
  ExecClearTuple(slot);
  if (state->facts.read_once && (pair.left == right->current_row || pair.right == left->current_row))
    swap_rows(left, right);
  fill_side(state, left, pair.left);
  fill_side(state, right, pair.right);
  fill_similarity(state, pair);
  ExecStoreVirtualTuple(slot);
  state->css.ss.ps.ps_ExprContext->ecxt_scantuple = slot;
}

bool next_pair(JoinState *state, JoinPair *pair) {
  for (;;) {
    const bool found =
        state->phase == JoinPhase::same_row ? next_same_row(state, pair) : next_engine_pair(state, pair);
    if (!found && (state->phase == JoinPhase::stream || !enter_next_pairs(state))) return false;
    if (found && qualifies(state, *pair) && !has_row(state->inputs[0].matchless, pair->left) &&
        !has_row(state->inputs[1].matchless, pair->right))
      return true;
  }
}

}  // namespace simjoin::pg
