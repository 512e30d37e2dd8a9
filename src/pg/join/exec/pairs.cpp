#include "pg/join/exec/pairs.hpp"

extern "C" {
#include "executor/executor.h"
}

#include <utility>

#include "pg/base/interrupts.hpp"
#include "pg/computation/engine.hpp"
#include "pg/join/clause/method.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/join/exec/phase_log.hpp"
#include "pg/join/exec/stream.hpp"

namespace simjoin::pg {
namespace {

// The rows of a pair are prefetched this many pairs before its turn, and their places earlier.
constexpr size_t pairs_ahead = 8, places_ahead = 16;

// Returns whether rows wait in a temporary file, so that it matters in which order they are read.
bool reads_from_file(const JoinState *state) {
  for (const JoinInput &input : state->inputs.sides)
    if (input.reader.store != nullptr && input.reader.store->file != nullptr) return true;
  return false;
}

// Counts the pairs of the batch whose sets are equal.
void count_equal_pairs(JoinState *state) {
  const JoinEngine *engine = state->engine.join;
  const Batch &batch = *state->engine.batch;
  const Side right = state->facts.read_once ? Side::left : Side::right;
  for (size_t i = 0; i < batch.size(); ++i)
    state->totals.equal_pairs += batch.overlap[i] == engine->set_size(Side::left, batch.left[i]) &&
                                 batch.overlap[i] == engine->set_size(right, batch.right[i]);
}

// Replaces the batch by the engine's next one. Returns false at the end.
bool fetch_batch(JoinState *state) {
  instr_time start, end;
  INSTR_TIME_SET_CURRENT(start);
  const bool more = state->engine.streamed ? next_streamed_batch(state)
                                           : next_batch(state->engine.join, &state->engine.spill_file,
                                                        state->engine.batch, reads_from_file(state));
  INSTR_TIME_SET_CURRENT(end);
  INSTR_TIME_ACCUM_DIFF(state->totals.engine_time, end, start);
  state->engine.batch_position = 0;
  log_build(state);
  // The engine has a similarity that all pairs within the distance reach, and some pairs beyond it.
  if (more && state->facts.distance && state->terms.threshold > 0)
    state->engine.beyond +=
        drop_beyond_distance(state->engine.batch, state->engine.join, state->facts.read_once,
                             state->terms.limit, state->facts.strict);
  if (more && state->totals.keep && counts_equal_pairs(state)) count_equal_pairs(state);
  if (!more && band_join(state) != nullptr)
    report_chained_buckets(band_join(state)->lsh_stats(), "similarity join");
  return more;
}

// Returns whether the pair of different rows satisfies the clause. The engine's pairs do, but in a join of
// the same rows by an asymmetric measure perhaps only the other way round.
bool qualifies(const JoinState *state, const JoinPair &pair) {
  if (!state->facts.read_once || is_symmetric(state->terms.measure) || pair.left == pair.right) return true;
  return similarity(state->terms.measure, pair.overlap, state->engine.join->set_size(Side::left, pair.left),
                    state->engine.join->set_size(Side::left, pair.right)) >= state->terms.threshold;
}

// Prefetches the rows of pairs that come soon.
void prefetch_pairs(JoinState *state) {
  const Batch &batch = *state->engine.batch;
  const size_t i = state->engine.batch_position;
  const RowReader &left = state->inputs[Side::left].reader, &right = state->inputs[Side::right].reader;
  if (i + places_ahead < batch.size()) {
    prefetch_place(&left, batch.left[i + places_ahead]);
    prefetch_place(&right, batch.right[i + places_ahead]);
  }
  if (i + pairs_ahead < batch.size()) {
    prefetch_row(&left, batch.left[i + pairs_ahead]);
    prefetch_row(&right, batch.right[i + pairs_ahead]);
  }
}

// Takes the next pair of the engine. In a join of the same rows each pair is given both ways round, unless
// end_one_way() is called after the first.
bool next_engine_pair(JoinState *state, JoinPair *pair) {
  while (state->engine.batch_position == state->engine.batch->size())
    if (!fetch_batch(state)) return false;
  const size_t i = state->engine.batch_position;
  if (!state->engine.other_way) prefetch_pairs(state);
  *pair = {state->engine.batch->left[i], state->engine.batch->right[i], state->engine.batch->overlap[i]};
  if (state->facts.weighted()) pair->similarity = state->engine.batch->similarity[i];
  if (!state->facts.read_once) {
    ++state->engine.batch_position;
    return true;
  }
  const bool larger_left = state->engine.larger_first != state->engine.other_way;
  if ((pair->left > pair->right) != larger_left) std::swap(pair->left, pair->right);
  if (state->engine.other_way) ++state->engine.batch_position;
  state->engine.other_way = !state->engine.other_way;
  return true;
}

// Gives the next row that matches itself, in a join of the same rows.
bool next_same_row(JoinState *state, JoinPair *pair) {
  const bool alike = same_rows_are_alike(state);
  while (state->next_row < state->inputs[Side::left].row_count) {
    const uint32_t row = state->next_row++;
    if (row % 4096 == 0) check_interrupts();
    const uint32_t size = alike ? 1 : state->engine.join->set_size(Side::left, row);
    *pair = {row, row, size};
    // Empty sets that may match do so where every pair does.
    const double value = state->facts.weighted() ? own_similarity(state, row)
                                                 : similarity(state->terms.measure, size, size, size);
    if (value >= state->terms.threshold) return true;
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
  enter(state, state->phase == JoinPhase::null_pairs ? first : last);
  return true;
}

void end_one_way(JoinState *state, const JoinPair &pair) {
  if (state->engine.other_way) {
    const JoinPair other = {pair.right, pair.left, pair.overlap, pair.similarity};
    if (qualifies(state, other)) InstrCountFiltered1(&state->css.ss.ps, 1);  // as if it had been looked at
    ++state->engine.batch_position;
  }
  state->engine.other_way = false;
  state->engine.larger_first = pair.left > pair.right;
}

bool next_pair(JoinState *state, JoinPair *pair) {
  for (;;) {
    const bool found =
        state->phase == JoinPhase::same_row ? next_same_row(state, pair) : next_engine_pair(state, pair);
    if (!found && (state->phase == JoinPhase::stream || !enter_next_pairs(state))) return false;
    if (found && qualifies(state, *pair) && !has_row(state->inputs[Side::left].matchless, pair->left) &&
        !has_row(state->inputs[Side::right].matchless, pair->right))
      return true;
  }
}

}  // namespace simjoin::pg
