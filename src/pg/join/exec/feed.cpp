#include "pg/join/exec/feed.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
}

#include <algorithm>

#include "core/base/memory_shares.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/background.hpp"
#include "pg/computation/engine.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/watch.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/join/clause/threshold_warning.hpp"
#include "pg/join/exec/aside.hpp"
#include "pg/join/exec/feed_blocks.hpp"
#include "pg/join/exec/inputs.hpp"
#include "pg/join/exec/phase_log.hpp"
#include "pg/join/exec/row_set.hpp"
#include "pg/join/exec/stream.hpp"
#include "pg/rows/parallel_rows.hpp"

namespace simjoin::pg {
namespace {

// What a row of an input takes beside its columns, and how much of the memory limit a join needs for the
// bytes of its inputs, so that it needs no file: both with room for estimates that are too low.
constexpr double beside_row = 64, copies_of_input = 8;

// ---- Every row of the inputs goes to the engine and to the row stores ----

void store_row(JoinInput *input, TupleTableSlot *slot) {
  if (input->reader.store == nullptr) return;
  read_kept_columns(input, slot);
  append_row(input->reader.store, input->values, input->nulls);
}

// Returns the planner's estimate of the rows of the inputs.
double rows_expected(const JoinState *state) {
  const double left = rows_of_input(state->inputs[Side::left].child->plan);
  return state->facts.read_once ? left : left + rows_of_input(state->inputs[Side::right].child->plan);
}

// Returns the memory that the join asks for: what most joins can do with, and more where the planner expects
// so many rows.
size_t memory_asked(const JoinState *state) {
  double bytes = 0;
  for (int side = 0; side < (state->facts.read_once ? 1 : 2); ++side) {
    Plan *input = state->inputs.sides[side].child->plan;
    bytes += rows_of_input(input) * (plan_of_rows(input)->plan_width + beside_row);
  }
  bytes *= copies_of_input;
  return bytes >= static_cast<double>(all_memory) ? all_memory
                                                  : std::max(ordinary_memory, static_cast<size_t>(bytes));
}

// Takes the memory limit of this execution.
void take_memory(JoinState *state) {
  const size_t asked = memory_asked(state);
  state->memory_limit = memory_limit_of(state->context, asked);
  if (!Settings::memory_is_drawn()) return;
  JoinTotals &totals = state->totals;
  totals.memory_drawn = std::max<uint64>(totals.memory_drawn, state->memory_limit);
  totals.memory_asked = std::max<uint64>(totals.memory_asked, std::min(asked, Settings::max_memory()));
}

// Returns the specification of this execution's exact join.
JoinSpec join_spec(const JoinState *state) {
  JoinSpec spec = spec_from_settings(state->terms.measure, state->terms.threshold, state->memory_limit);
  spec.self_join = state->facts.read_once;
  spec.done_rows = state->engine.done_rows;
  spec.rows_expected = rows_expected(state);
  return spec;
}

// Feeds a row's set. The row counts as one with an empty set where its set is NULL or no set at all, or where
// it matches nothing.
void feed_row(JoinState *state, Side side, TupleTableSlot *slot) {
  JoinInput *input = &state->inputs[side];
  const RowSet set = set_of_row(state, side, slot);
  if (set.isnull) add_row(state->context, &input->without_set, input->row_count);
  if (set.joins) note_keys(state, input, set.partition);
  if (set.joins && !set.flaw.none()) set_aside(state, side, set);
  const bool fed = set.joins && set.flaw.none();
  const bool weightless = fed && !has_weight(state, set);
  if (weightless) add_row(state->context, &input->weightless, input->row_count);
  if (!fed || (weightless && state->terms.threshold > 0))
    add_row(state->context, &input->matchless, input->row_count);
  if (fed) {
    feed_set_of_row(state, side, set);
  } else {
    feed_empty_set(state->engine.join, side, state->facts.token_type);
  }
}

constexpr const char *shown_as = "similarity join";

// Creates the engine that ranks the sets of both sides, maybe instead of one that would have streamed.
void start_ranking(JoinState *state, const JoinEngine *instead_of) {
  state->engine.join =
      create_engine(join_spec(state), state->facts.weighted(), state->context, shown_as, instead_of);
}

// Continues with the engine that ranks both sides: the side read so far is not small enough.
void stop_streaming(JoinState *state) {
  StreamedJoin *streamed = streamed_join(state);
  state->engine.streamed = false;
  start_ranking(state, streamed);
  call_cpp([&] { streamed->hand_over(*state->engine.join); });
}

// Reads the child to its end, from its first row on. With read_once its rows are those of both sides. Without
// an engine, rows are only kept.
void feed_input(JoinState *state, Side side, TupleTableSlot *first) {
  JoinInput *input = &state->inputs[side];
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  for (TupleTableSlot *slot = first; slot != nullptr; slot = next_row(input)) {
    if (input->row_count == no_row)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                      errmsg("one side of a join cannot have more than %u rows", no_row)));
    if (state->engine.join != nullptr) {
      ResetExprContext(context);
      MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
      feed_row(state, side, slot);
      MemoryContextSwitchTo(old);
      if (state->engine.streamed && !streamed_join(state)->is_small()) stop_streaming(state);
      end_row(state->engine.join, &state->engine.spill_file);
    }
    store_row(input, slot);
    ++input->row_count;
    feed_rows_of_block(state, side);
  }
}

// Evaluates the threshold of this execution. The threshold and the measure of `~=` come from the settings.
void resolve_threshold(JoinState *state) {
  if (state->facts.from_settings) {
    const Settings::OfOperator by = Settings::of_operator();
    state->terms.measure = by.measure;
    state->terms.threshold = state->terms.limit = by.threshold;
    return;
  }
  state->terms.measure = state->facts.measure;
  if (state->facts.ranked) {
    const double limit = state->terms.limit = state->search.threshold;
    state->terms.threshold = state->facts.distance ? similarity_at_distance(limit, false) : limit;
    return;
  }
  Datum datum = ExecEvalExprSwitchContext(state->threshold_expr, state->css.ss.ps.ps_ExprContext,
                                          &state->terms.limit_isnull);
  if (!state->terms.limit_isnull) state->terms.limit = threshold_value(datum, state->threshold_type);
  state->terms.threshold =
      clause_threshold(state->facts, datum, state->terms.limit_isnull, state->threshold_type);
  const JoinPlanFacts &facts = state->facts;
  if (facts.implied) return;  // nobody has written this threshold
  warn_of_threshold({clause_function(facts), facts.measure, facts.distance, facts.strict},
                    state->terms.limit_isnull ? nullptr : &state->terms.limit);
}

// Creates the engine of this execution. If one side may be small, that is an engine that records it.
void start_engine(JoinState *state) {
  resolve_threshold(state);
  const bool self_join = state->facts.read_once;
  const bool weighted = state->facts.weighted();
  // Pairs in order are exact: who asks for the best ones knows no threshold, from which on some may be
  // missed.
  if (!state->facts.ranked)
    state->terms.method =
        choose_method(state->terms.measure, state->terms.threshold, state->facts.jointype, weighted);
  state->terms.known = true;
  give_up_at_conflict(state->context);
  if (state->facts.asks_for_existence())
    state->engine.done_rows =
        static_cast<DoneRows *>(MemoryContextAllocZero(state->context, sizeof(DoneRows)));
  if (state->terms.method.by_bands) {
    LshSpec spec = band_join_spec(state->terms.method, {state->terms.measure, weighted},
                                  state->terms.threshold, self_join, state->memory_limit);
    spec.done_rows = state->engine.done_rows;
    prepare_gpu_use();
    state->engine.join = own(state->context, [&] { return make_lsh_join(spec); });
    watch_join(state->engine.join, state->context, shown_as);
  } else if (!weighted && !state->search.nulls &&
             may_stream(state->terms.method, state->terms.threshold, self_join)) {
    const JoinSpec spec = join_spec(state);
    state->engine.join =
        own(state->context, [&] { return std::make_unique<StreamedJoin>(spec, state->facts.smaller); });
    state->engine.streamed = true;
    watch_join(state->engine.join, state->context, shown_as);
  } else {
    start_ranking(state, nullptr);
  }
  expect_rows(state->engine.join, rows_expected(state));
  state->engine.batch = create_batch(state->context);
}

bool needs_matched(const JoinPlanFacts &facts, Side side) {
  return facts.keeps_unmatched(side) || (side == Side::left && facts.jointype == JOIN_SEMI);
}

// Reads one side, from its first row on, and keeps what is needed of its rows.
void feed_side(JoinState *state, Side side, TupleTableSlot *first) {
  const size_t row_memory = row_share(state->memory_limit);
  JoinInput *input = &state->inputs[side];
  if (input->kept_count > 0)
    input->reader.store = create_row_store(state->context, input->descriptor, row_memory);
  feed_input(state, side, first);
}

// Gives the right side the rows of the left side.
void share_rows(JoinState *state) {
  JoinInput *left = &state->inputs[Side::left], *right = &state->inputs[Side::right];
  right->reader.store = left->reader.store;
  right->row_count = left->row_count;
  right->key_slots = left->key_slots;
  right->matchless = left->matchless;
  right->weightless = left->weightless;
  right->without_set = left->without_set;
}

// Indexes the side that has been read. Returns false if that does not pay.
bool index_small_side(JoinState *state) {
  StreamedJoin *streamed = streamed_join(state);
  if (streamed->takes_long_to_index()) {
    run_interruptibly(state->context, [streamed](WorkerPool &pool) { streamed->index(pool.stop()); });
  } else {
    call_cpp([&] { streamed->index(StopFlag()); });
  }
  return streamed->is_indexed();
}

// Reads the side that is thought to be small. If it is, the other side streams.
void feed_small_side(JoinState *state, TupleTableSlot *const first[2]) {
  const Side small = state->facts.smaller, other = opposite(small);
  feed_side(state, small, first[static_cast<int>(small)]);
  if (state->engine.streamed && !index_small_side(state)) stop_streaming(state);
  if (state->engine.streamed) {
    begin_stream(state, other, first[static_cast<int>(other)]);
  } else {
    feed_side(state, other, first[static_cast<int>(other)]);
  }
}

// Reads both inputs. Where one of them has no row, the threshold is not evaluated and no engine is started,
// as in a nested loop. The other input is then read only if its rows are handed up without a partner.
void read_inputs(JoinState *state) {
  const JoinPlanFacts &facts = state->facts;
  JoinInput *left = &state->inputs[Side::left], *right = &state->inputs[Side::right];
  TupleTableSlot *first[2] = {next_row(left), nullptr};
  if (facts.read_once) {
    first[1] = first[0];
  } else if (first[0] != nullptr || facts.keeps_unmatched(Side::right)) {
    first[1] = next_row(right);
  }
  const bool joins = first[0] != nullptr && first[1] != nullptr;
  if (joins) start_engine(state);
  if (state->engine.streamed) return feed_small_side(state, first);
  if (joins || facts.keeps_unmatched(Side::left)) feed_side(state, Side::left, first[0]);
  if (facts.read_once) {
    share_rows(state);
  } else if (joins || facts.keeps_unmatched(Side::right)) {
    feed_side(state, Side::right, first[1]);
  }
}

}  // namespace

void feed(JoinState *state) {
  instr_time start, end;
  INSTR_TIME_SET_CURRENT(start);
  take_memory(state);
  read_inputs(state);
  for (Side side : {Side::left, Side::right}) {
    JoinInput &input = state->inputs[side];
    input.current_row = no_row;
    if (needs_matched(state->facts, side) && !streams(state, side))
      reserve_rows(state->context, &input.matched, input.row_count);
  }
  if (state->engine.done_rows != nullptr)
    state->engine.done_rows->bits = state->inputs[Side::left].matched.bits;
  INSTR_TIME_SET_CURRENT(end);
  INSTR_TIME_ACCUM_DIFF(state->totals.scan_time, end, start);
  INSTR_TIME_SUBTRACT(end, start);
  log_input(state, INSTR_TIME_GET_MILLISEC(end));
}

}  // namespace simjoin::pg
