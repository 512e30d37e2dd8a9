#include "pg/dedup/join.hpp"

extern "C" {
#include "miscadmin.h"
}

#include <memory>

#include "core/dedup/token_filter.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/engine.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/sets/tokens.hpp"
#include "pg/sets/weighted_set.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t pairs_a_statement = 1 << 16;  // that one statement stores
// The engine gets larger sets unfiltered: it can be interrupted.
constexpr uint32_t most_filtered = 1 << 18;

// The join of new and changed rows with all rows.
struct DeltaJoin {
  const char *function;
  JoinEngine *engine;
  File spill_file;  // of the engine; 0 where it has none
  Batch *batch;
  bool all;  // no row was kept: all rows are joined with themselves
  // The rows of either side of the engine. Among them are only those kept rows that can be similar to another
  // row.
  uint32_t *rows[2];
  size_t counts[2];
};

// A similar pair of row numbers.
struct RowPair {
  uint32_t left;
  uint32_t right;
  double similarity;
};

void feed(DeltaJoin *join, const DedupState &state, Side side, TupleTableSlot *slot) {
  const bool is_set = with_set(state, slot, [&](const SetView &set, const float *weights) {
    if (state.measure.weighted)
      feed_weighted_set(join->engine, side, set, weights, nullptr);
    else
      feed_set(join->engine, side, set);
  });
  if (!is_set) feed_empty_set(join->engine, side, state.token_type);
  end_row(join->engine, &join->spill_file);
}

// Feeds the row to a side.
void feed_row(DeltaJoin *join, const DedupState &state, Side side, size_t row, TupleTableSlot *slot) {
  feed(join, state, side, slot);
  uint32_t *rows = join->rows[static_cast<int>(side)];
  rows[join->counts[static_cast<int>(side)]++] = static_cast<uint32_t>(row);
}

// Returns false if the set is not similar enough to any set of tokens that the filter knows. `weights` are
// nullptr where sets have none.
bool may_match(TokenFilter *filter, const SetView &set, const float *weights) {
  if (set.count > most_filtered) return true;
  if (weights == nullptr)
    return call_cpp([&] { return with_tokens(set, [&](auto tokens) { return filter->may_match(tokens); }); });
  bool result;
  with_weighted_tokens(set, weights, [&](auto tokens, std::span<const double> sums) {
    result = filter->may_match(tokens, sums);
  });
  return result;
}

// Feeds new and changed rows to both sides, and kept rows that can be similar to one of them to the right
// side. The engine would spend most of its time on the other kept rows.
void feed_delta(DeltaJoin *join, const DedupState &state, TokenFilter *filter) {
  for_rows(state, [&](size_t row, TupleTableSlot *slot) {
    if (state.rows[row].state == RowState::kept) return;
    feed_row(join, state, Side::left, row, slot);
    if (join->all) return;
    feed_row(join, state, Side::right, row, slot);
    with_set(state, slot, [&](const SetView &set, const float *) {
      for_token_blocks(set, [&](auto tokens) { call_cpp([&] { filter->add(tokens); }); });
    });
  });
  if (join->all) return;
  call_cpp([&] { filter->finish(); });
  for_rows(state, [&](size_t row, TupleTableSlot *slot) {
    if (state.rows[row].state != RowState::kept) return;
    bool matches = false;
    with_set(state, slot,
             [&](const SetView &set, const float *weights) { matches = may_match(filter, set, weights); });
    if (matches) feed_row(join, state, Side::right, row, slot);
  });
}

// Returns the join, whose engine has been fed.
DeltaJoin start_delta_join(const DedupState &state) {
  const Measure measure = state.measure.measure;
  const double threshold = state.definition->threshold;
  DeltaJoin join = {};
  join.function = state.function;
  join.all = state.figures.new_rows + state.figures.changed_rows == static_cast<int64>(state.count());
  JoinSpec spec = spec_from_settings(measure, threshold, memory_limit_of(state.context));
  spec.self_join = join.all;
  join.engine = create_engine(spec, state.measure.weighted, state.context, state.function);
  join.batch = create_batch(state.context);
  for (uint32_t *&rows : join.rows) rows = allocate<uint32_t>(state.count());
  auto *filter = own(state.context, [&] { return std::make_unique<TokenFilter>(measure, threshold); });
  feed_delta(&join, state, filter);
  return join;
}

// Gives the i-th pair of the batch. Returns false for a pair of a row with itself, and for a pair that also
// comes the other way round.
bool pair_of(const DeltaJoin &join, const DedupState &state, size_t i, RowPair *pair) {
  const Side right_side = join.all ? Side::left : Side::right;
  const uint32_t left = join.batch->left[i], right = join.batch->right[i];
  pair->left = join.rows[static_cast<int>(Side::left)][left];
  pair->right = join.rows[static_cast<int>(right_side)][right];
  if (pair->left == pair->right) return false;
  if (!join.all && state.rows[pair->right].state != RowState::kept && pair->right < pair->left) return false;
  pair->similarity = state.measure.weighted ? join.batch->similarity[i]
                                            : similarity(state.measure.measure, join.batch->overlap[i],
                                                         join.engine->set_size(Side::left, left),
                                                         join.engine->set_size(right_side, right));
  return true;
}

// Stores the pairs of the join, adds them to the work, and ends the join.
void take_pairs(DeltaJoin join, DedupState *state, GroupingWork *work) {
  auto *pairs = allocate<StoredPair>(pairs_a_statement);
  size_t count = 0;
  RowPair pair;
  while (next_batch(join.engine, &join.spill_file, join.batch)) {
    for (size_t i = 0; i < join.batch->size(); ++i) {
      if (!pair_of(join, *state, i, &pair)) continue;
      if (work != nullptr) call_cpp([&] { work->add_pair(pair.left, pair.right, pair.similarity); });
      const int64 a = state->rows[pair.left].id, b = state->rows[pair.right].id;
      pairs[count++] = {std::min(a, b), std::max(a, b), pair.similarity};
      if (count < pairs_a_statement) continue;
      store_pairs(*state, pairs, count);
      state->figures.new_pairs += static_cast<int64>(count);
      count = 0;
    }
  }
  store_pairs(*state, pairs, count);
  state->figures.new_pairs += static_cast<int64>(count);
  pfree(pairs);
  report_device(join.function, join.engine);
  close_spill_file(&join.spill_file);
}

}  // namespace

void join_changes(DedupState *state, GroupingWork *work) {
  if (state->figures.new_rows + state->figures.changed_rows == 0) return;
  take_pairs(start_delta_join(*state), state, work);
}

}  // namespace simjoin::pg
