#include "pg/join/exec/feed.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
}

#include "core/base/memory_shares.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/join/clause/threshold_warning.hpp"
#include "pg/join/exec/aside.hpp"
#include "pg/join/exec/feed_blocks.hpp"
#include "pg/join/exec/parallel_input.hpp"
#include "pg/join/exec/phase_log.hpp"
#include "pg/join/exec/row_set.hpp"
#include "pg/join/exec/stream.hpp"
#include "pg/work/background.hpp"
#include "pg/work/engine.hpp"
#include "pg/work/gpu_notices.hpp"
#include "pg/work/watch.hpp"

namespace simjoin::pg {
namespace {

// ---- Start: which columns are kept, and the keys ----

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
  JoinInput *input = &state->inputs[static_cast<int>(side)];
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
  state->keys = read_partition_keys(plan, &state->key_count);
  for (int side = 0; side < 2; ++side) {
    state->key_hash[side] = static_cast<FmgrInfo *>(palloc(sizeof(FmgrInfo) * Max(state->key_count, 1)));
    for (int i = 0; i < state->key_count; ++i)
      fmgr_info(state->keys[i].hash_function[side], &state->key_hash[side][i]);
  }
}

// ---- Every row of the inputs goes to the engine and to the row stores ----

void store_row(JoinInput *input, TupleTableSlot *slot) {
  if (input->reader.store == nullptr) return;
  read_kept_columns(input, slot);
  append_row(input->reader.store, input->values, input->nulls);
}

// Returns the planner's estimate of the rows of the inputs.
double rows_expected(const JoinState *state) {
  const double left = rows_of_input(state->inputs[0].child->plan);
  return state->facts.read_once ? left : left + rows_of_input(state->inputs[1].child->plan);
}

// Returns the specification of this execution's exact join.
JoinSpec join_spec(const JoinState *state) {
  JoinSpec spec = spec_from_settings(state->measure, state->threshold);
  spec.self_join = state->facts.read_once;
  spec.done_rows = state->done_rows;
  spec.rows_expected = rows_expected(state);
  return spec;
}

// Feeds a row's set. The row counts as one with an empty set where its set is NULL or no set at all, or where
// it matches nothing.
void feed_row(JoinState *state, Side side, TupleTableSlot *slot) {
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  const RowSet set = set_of_row(state, side, slot, nullptr);
  if (set.isnull) add_row(state->context, &input->without_set, input->row_count);
  if (set.joins) note_keys(state, input, set.partition);
  if (set.joins && !set.flaw.none()) set_aside(state, input, set.partition, set.flaw);
  const bool fed = set.joins && set.flaw.none();
  const bool weightless = fed && !has_weight(state, set);
  if (weightless) add_row(state->context, &input->weightless, input->row_count);
  if (!fed || (weightless && state->threshold > 0))
    add_row(state->context, &input->matchless, input->row_count);
  if (fed) {
    feed_set_of_row(state, side, set);
  } else {
    feed_empty_set(state->engine, side, state->facts.token_type);
  }
}

constexpr const char *shown_as = "similarity join";

// Creates the engine that ranks the sets of both sides, maybe instead of one that would have streamed.
void start_ranking(JoinState *state, const JoinEngine *instead_of) {
  state->engine =
      create_engine(join_spec(state), state->facts.weighted(), state->context, shown_as, instead_of);
}

// Continues with the engine that ranks both sides: the side read so far is not small enough.
void stop_streaming(JoinState *state) {
  StreamedJoin *streamed = streamed_join(state);
  state->streamed = false;
  start_ranking(state, streamed);
  call_cpp([&] { streamed->hand_over(*state->engine); });
}

// Reads the child to its end, from its first row on. With read_once its rows are those of both sides. Without
// an engine, rows are only kept.
void feed_input(JoinState *state, Side side, TupleTableSlot *first) {
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  for (TupleTableSlot *slot = first; slot != nullptr; slot = next_row(input)) {
    if (input->row_count == no_row)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                      errmsg("one side of a join cannot have more than %u rows", no_row)));
    if (state->engine != nullptr) {
      ResetExprContext(context);
      MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
      feed_row(state, side, slot);
      MemoryContextSwitchTo(old);
      if (state->streamed && !streamed_join(state)->is_small()) stop_streaming(state);
      end_row(state->engine, &state->spill_file);
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
    state->measure = by.measure;
    state->threshold = state->limit = by.threshold;
    return;
  }
  state->measure = state->facts.measure;
  Datum datum =
      ExecEvalExprSwitchContext(state->threshold_expr, state->css.ss.ps.ps_ExprContext, &state->limit_isnull);
  if (!state->limit_isnull) state->limit = threshold_value(datum, state->threshold_type);
  state->threshold = clause_threshold(state->facts, datum, state->limit_isnull, state->threshold_type);
  const JoinPlanFacts &facts = state->facts;
  if (facts.implied) return;  // nobody has written this threshold
  warn_of_threshold({clause_function(facts), facts.measure, facts.distance, facts.strict},
                    state->limit_isnull ? nullptr : &state->limit);
}

// Creates the engine of this execution. If one side may be small, that is an engine that records it.
void start_engine(JoinState *state) {
  resolve_threshold(state);
  const bool self_join = state->facts.read_once;
  const bool weighted = state->facts.weighted();
  state->method = choose_method(state->measure, state->threshold, state->facts.jointype, weighted);
  state->started = true;
  give_up_at_conflict(state->context);
  if (asks_for_existence(state->facts.jointype))
    state->done_rows = static_cast<DoneRows *>(MemoryContextAllocZero(state->context, sizeof(DoneRows)));
  if (state->method.by_bands) {
    LshSpec spec = band_join_spec(state->method, {state->measure, weighted}, state->threshold, self_join);
    spec.done_rows = state->done_rows;
    prepare_gpu_use();
    state->engine = own(state->context, [&] { return make_lsh_join(spec); });
    watch_join(state->engine, state->context, shown_as);
  } else if (!weighted && may_stream(state->method, state->threshold, self_join)) {
    const JoinSpec spec = join_spec(state);
    state->engine =
        own(state->context, [&] { return std::make_unique<StreamedJoin>(spec, state->facts.smaller); });
    state->streamed = true;
    watch_join(state->engine, state->context, shown_as);
  } else {
    start_ranking(state, nullptr);
  }
  expect_rows(state->engine, rows_expected(state));
  state->batch = create_batch(state->context);
  state->batch_position = 0;
  state->other_way = state->larger_first = false;
}

bool needs_matched(JoinType jointype, Side side) {
  return keeps_unmatched(jointype, side) || (side == Side::left && jointype == JOIN_SEMI);
}

// Reads one side, from its first row on, and keeps what is needed of its rows.
void feed_side(JoinState *state, Side side, TupleTableSlot *first) {
  const size_t row_memory = row_share(Settings::memory_limit());
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  if (input->kept_count > 0)
    input->reader.store = create_row_store(state->context, input->descriptor, row_memory);
  feed_input(state, side, first);
}

// Gives the right side the rows of the left side.
void share_rows(JoinState *state) {
  JoinInput *left = &state->inputs[0], *right = &state->inputs[1];
  right->reader.store = left->reader.store;
  right->aside.store = left->aside.store;
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
  const Side small = state->facts.smaller, other = small == Side::left ? Side::right : Side::left;
  feed_side(state, small, first[static_cast<int>(small)]);
  if (state->streamed && !index_small_side(state)) stop_streaming(state);
  if (state->streamed) {
    begin_stream(state, other, first[static_cast<int>(other)]);
  } else {
    feed_side(state, other, first[static_cast<int>(other)]);
  }
}

// Reads both inputs. Where one of them has no row, the threshold is not evaluated and no engine is started,
// as in a nested loop. The other input is then read only if its rows are handed up without a partner.
void read_inputs(JoinState *state) {
  const JoinType jointype = state->facts.jointype;
  JoinInput *left = &state->inputs[0], *right = &state->inputs[1];
  TupleTableSlot *first[2] = {next_row(left), nullptr};
  if (state->facts.read_once) {
    first[1] = first[0];
  } else if (first[0] != nullptr || keeps_unmatched(jointype, Side::right)) {
    first[1] = next_row(right);
  }
  const bool joins = first[0] != nullptr && first[1] != nullptr;
  if (joins) start_engine(state);
  if (state->streamed) return feed_small_side(state, first);
  if (joins || keeps_unmatched(jointype, Side::left)) feed_side(state, Side::left, first[0]);
  if (state->facts.read_once) {
    share_rows(state);
  } else if (joins || keeps_unmatched(jointype, Side::right)) {
    feed_side(state, Side::right, first[1]);
  }
}

}  // namespace

bool asks_for_existence(JoinType jointype) {
  return jointype == JOIN_SEMI || jointype == JOIN_ANTI;
}

bool keeps_unmatched(JoinType jointype, Side side) {
  return jointype == JOIN_FULL || (side == Side::left && (jointype == JOIN_LEFT || jointype == JOIN_ANTI));
}

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
    JoinInput *input = &state->inputs[side];
    List *arrays = list_make1_int(state->facts.set_column[side]);
    if (state->facts.weighted()) arrays = lappend_int(arrays, state->facts.weights_column[side]);
    input->blocks = init_block_input(input->child, estate, arrays, state->context);
    if (input->blocks == nullptr) continue;
    // The arrays are in a block once more, detoasted, after the other columns.
    auto columns = static_cast<AttrNumber>(ExecGetResultType(input->blocks->rows)->natts);
    state->facts.set_column[side] = ++columns;
    if (state->facts.weighted()) state->facts.weights_column[side] = ++columns;
  }
  if (state->facts.read_once) state->inputs[1].blocks = state->inputs[0].blocks;
}

void init_inputs(JoinState *state, const CustomScan *plan, Bitmapset *used) {
  init_keys(state, plan);
  Bitmapset *left = needed_columns(state, Side::left, used),
            *right = needed_columns(state, Side::right, used);
  if (state->facts.read_once) left = right = bms_union(left, right);
  init_columns(state, Side::left, used, left);
  init_columns(state, Side::right, used, right);
  init_kept_rows(&state->inputs[0]);
  init_kept_rows(&state->inputs[1]);
}

void feed(JoinState *state) {
  instr_time start, end;
  INSTR_TIME_SET_CURRENT(start);
  read_inputs(state);
  for (Side side : {Side::left, Side::right}) {
    JoinInput &input = state->inputs[static_cast<int>(side)];
    input.current_row = no_row;
    if (needs_matched(state->facts.jointype, side) && !streams(state, side))
      reserve_rows(state->context, &input.matched, input.row_count);
  }
  if (state->done_rows != nullptr) state->done_rows->bits = state->inputs[0].matched.bits;
  INSTR_TIME_SET_CURRENT(end);
  INSTR_TIME_ACCUM_DIFF(state->scan_time, end, start);
  INSTR_TIME_SUBTRACT(end, start);
  log_input(state, INSTR_TIME_GET_MILLISEC(end));
}

}  // namespace simjoin::pg
