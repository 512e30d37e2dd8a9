#include "pg/join_exec.hpp"

extern "C" {
#include "common/hashfn.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <atomic>
#include <cmath>
#include <limits>

#include "core/memory_shares.hpp"
#include "pg/engine.hpp"
#include "pg/errors.hpp"
#include "pg/gpu_faults.hpp"
#include "pg/join_explain.hpp"
#include "pg/join_threshold.hpp"
#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

constexpr uint32_t no_row = std::numeric_limits<uint32_t>::max();
// How many pairs before its turn the rows of one are asked for.
constexpr size_t pairs_ahead = 8;

JoinState *state_of(CustomScanState *node) {
  return reinterpret_cast<JoinState *>(node);
}

// ---- Start ----

// Returns the numbers of the scan tuple's columns (from 0) that the node's output or clauses use.
Bitmapset *used_columns(const CustomScan *plan) {
  Bitmapset *attributes = nullptr, *columns = nullptr;
  pull_varattnos(reinterpret_cast<Node *>(plan->scan.plan.targetlist), INDEX_VAR, &attributes);
  pull_varattnos(reinterpret_cast<Node *>(plan->scan.plan.qual), INDEX_VAR, &attributes);
  pull_varattnos(plan_expression(plan, JoinExpr::join_quals), INDEX_VAR, &attributes);
  for (int member = -1; (member = bms_next_member(attributes, member)) >= 0;)
    columns = bms_add_member(columns, member + FirstLowInvalidHeapAttributeNumber - 1);
  return columns;
}

// Returns the place of a child's output column among those that are kept; appends it where it is new.
int keep_column(JoinInput *input, AttrNumber child_column) {
  for (int i = 0; i < input->kept_count; ++i)
    if (input->kept[i] == child_column) return i;
  input->kept[input->kept_count] = child_column;
  return input->kept_count++;
}

// Lists the columns of the scan tuple that are used and come from this side, and what `store` has to keep for
// them.
void init_columns(JoinState *state, Side side, Bitmapset *used, JoinInput *store) {
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  const ColumnSource source = side == Side::left ? ColumnSource::left : ColumnSource::right;
  input->scan_columns = static_cast<int *>(palloc(sizeof(int) * state->column_count));
  input->kept_columns = static_cast<int *>(palloc(sizeof(int) * state->column_count));
  if (store->kept == nullptr)
    store->kept = static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * state->column_count));
  for (int i = 0; i < state->column_count; ++i) {
    if (state->columns[i].source != source || !bms_is_member(i, used)) continue;
    input->scan_columns[input->used_count] = i;
    input->kept_columns[input->used_count++] = keep_column(store, state->columns[i].child_column);
  }
}

// Describes the rows that are kept of an input.
void init_kept_rows(JoinInput *input) {
  TupleDesc from = ExecGetResultType(input->child);
  input->descriptor = CreateTemplateTupleDesc(input->kept_count);
  for (int i = 0; i < input->kept_count; ++i)
    TupleDescCopyEntry(input->descriptor, static_cast<AttrNumber>(i + 1), from, input->kept[i]);
  input->values = static_cast<Datum *>(palloc(sizeof(Datum) * Max(input->kept_count, 1)));
  input->nulls = static_cast<bool *>(palloc(sizeof(bool) * Max(input->kept_count, 1)));
}

void init_inputs(JoinState *state, Bitmapset *used) {
  JoinInput *left = &state->inputs[0], *right = &state->inputs[1];
  init_columns(state, Side::left, used, left);
  init_columns(state, Side::right, used, state->facts.read_once ? left : right);
  right->kept_count = state->facts.read_once ? left->kept_count : right->kept_count;
  right->kept = state->facts.read_once ? left->kept : right->kept;
  init_kept_rows(left);
  init_kept_rows(right);
}

// Lists the used columns of the scan tuple that hold the similarity: where there is none it is not computed.
void init_similarity(JoinState *state, Bitmapset *used) {
  state->similarity_columns = static_cast<int *>(palloc(sizeof(int) * state->column_count));
  for (int i = 0; i < state->column_count; ++i)
    if (state->columns[i].source == ColumnSource::similarity && bms_is_member(i, used))
      state->similarity_columns[state->similarity_count++] = i;
}

void init_keys(JoinState *state, const CustomScan *plan) {
  state->keys = read_partition_keys(plan, &state->key_count);
  for (int side = 0; side < 2; ++side) {
    state->key_hash[side] = static_cast<FmgrInfo *>(palloc(sizeof(FmgrInfo) * Max(state->key_count, 1)));
    for (int i = 0; i < state->key_count; ++i)
      fmgr_info(state->keys[i].hash_function[side], &state->key_hash[side][i]);
  }
}

void begin_join(CustomScanState *node, EState *estate, int eflags) {
  JoinState *state = state_of(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->facts = read_plan(plan, &state->columns);
  state->column_count = list_length(plan->custom_scan_tlist);
  ListCell *cell;
  foreach (cell, plan->custom_plans)
    node->custom_ps =
        lappend(node->custom_ps, ExecInitNode(static_cast<Plan *>(lfirst(cell)), estate, eflags));
  state->inputs[0].child = static_cast<PlanState *>(linitial(node->custom_ps));
  state->inputs[1].child = static_cast<PlanState *>(llast(node->custom_ps));

  auto *threshold = reinterpret_cast<Expr *>(plan_expression(plan, JoinExpr::threshold));
  state->threshold_type = threshold == nullptr ? InvalidOid : exprType(reinterpret_cast<Node *>(threshold));
  state->threshold_expr = ExecInitExpr(threshold, &node->ss.ps);
  state->join_quals =
      ExecInitQual(reinterpret_cast<List *>(plan_expression(plan, JoinExpr::join_quals)), &node->ss.ps);

  init_keys(state, plan);
  Bitmapset *used = used_columns(plan);
  init_inputs(state, used);
  init_similarity(state, used);
  state->context = AllocSetContextCreate(estate->es_query_cxt, "simjoin execution", ALLOCSET_DEFAULT_SIZES);
  state->totals = own(estate->es_query_cxt, [] { return std::make_unique<JoinStats>(); });
  state->keep_totals = (estate->es_instrument != 0);
  state->phase = JoinPhase::feed;
}

// ---- Feed: every row of the inputs goes to the engine and to the row stores ----

// Sets the bit of a row. The engine's threads may look at it; none but this one writes.
void set_bit(bits8 *bits, uint32_t row) {
  const std::atomic_ref byte(bits[row / 8]);
  const bits8 set = static_cast<bits8>(1U << (row % 8));
  byte.store(byte.load(std::memory_order_relaxed) | set, std::memory_order_relaxed);
}
bool get_bit(const bits8 *bits, uint32_t row) {
  return (bits[row / 8] >> (row % 8) & 1U) != 0;
}

bits8 *allocate_bits(MemoryContext context, uint32_t rows) {
  return static_cast<bits8 *>(
      MemoryContextAllocExtended(context, rows / 8 + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
}

// Notes that the row that is being read matches nothing: a NULL set is fed as an empty one, which joins where
// every pair does.
void remember_matchless(JoinState *state, JoinInput *input) {
  const uint32_t row = input->row_count, needed = row / 8 + 1;
  if (needed > input->matchless_bytes) {
    const uint32_t size = Max(needed * 2, 1024U);
    auto *grown = static_cast<bits8 *>(
        MemoryContextAllocExtended(state->context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    if (input->matchless != nullptr) memcpy(grown, input->matchless, input->matchless_bytes);
    input->matchless = grown;
    input->matchless_bytes = size;
  }
  set_bit(input->matchless, row);
}

bool is_matchless(const JoinInput &input, uint32_t row) {
  return row / 8 < input.matchless_bytes && get_bit(input.matchless, row);
}

void store_row(JoinInput *input, TupleTableSlot *slot) {
  if (input->reader.store == nullptr) return;
  for (int i = 0; i < input->kept_count; ++i)
    input->values[i] = slot_getattr(slot, input->kept[i], &input->nulls[i]);
  append_row(input->reader.store, input->values, input->nulls);
}

// Returns false where a partition key is NULL: the row matches nothing. Else *partition is a hash of the
// keys.
bool hash_keys(JoinState *state, Side side, TupleTableSlot *slot, uint64_t *partition) {
  const int s = static_cast<int>(side);
  uint64_t hash = 0;
  for (int i = 0; i < state->key_count; ++i) {
    bool isnull;
    Datum key = slot_getattr(slot, state->keys[i].column[s], &isnull);
    if (isnull) return false;
    Datum value = FunctionCall1Coll(&state->key_hash[s][i], state->keys[i].collation, key);
    hash = hash_combine64(hash, hash_bytes_uint32_extended(DatumGetUInt32(value), 0));
  }
  *partition = hash;
  return true;
}

// Feeds a row's set. One that is NULL, or whose row matches nothing, counts as a row with an empty set.
void feed_row(JoinState *state, Side side, TupleTableSlot *slot) {
  bool isnull;
  uint64_t partition = 0;
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  Datum array = slot_getattr(slot, state->facts.set_column[static_cast<int>(side)], &isnull);
  if (isnull || !hash_keys(state, side, slot, &partition)) {
    remember_matchless(state, input);
    feed_empty_set(state->engine, side, state->facts.token_type);
    return;
  }
  const SetView set = view_set(array, clause_function(state->facts));
  if (set.count == 0 && state->threshold > 0) remember_matchless(state, input);
  if (state->key_count == 0) {
    feed_set(state->engine, side, set);
  } else {
    feed_partitioned_set(state->engine, side, set, partition);
  }
}

// Reads the child to its end. With rows read once, they are the rows of both sides.
void feed_input(JoinState *state, Side side) {
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    TupleTableSlot *slot = ExecProcNode(input->child);
    if (TupIsNull(slot)) break;
    if (input->row_count == no_row)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                      errmsg("a similarity join reads at most %u rows of a side", no_row)));
    ResetExprContext(context);
    MemoryContext old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    feed_row(state, side, slot);
    MemoryContextSwitchTo(old);
    offer_spill_file(state->engine, &state->spill_file);
    store_row(input, slot);
    ++input->row_count;
  }
}

// Evaluates the threshold of this execution; that of `~=`, and its measure, come from the settings.
void resolve_threshold(JoinState *state) {
  state->measure = state->facts.measure;
  if (state->facts.from_settings) {
    state->measure = static_cast<Measure>(measure);
    state->threshold = state->limit = similarity_threshold;
    return;
  }
  Datum datum =
      ExecEvalExprSwitchContext(state->threshold_expr, state->css.ss.ps.ps_ExprContext, &state->limit_isnull);
  if (!state->limit_isnull) state->limit = threshold_value(datum, state->threshold_type);
  state->threshold = clause_threshold(state->facts, datum, state->limit_isnull, state->threshold_type);
}

// Returns whether a left row's first partner is all that is asked for.
bool asks_for_existence(JoinType jointype) {
  return jointype == JOIN_SEMI || jointype == JOIN_ANTI;
}

// Creates the engine of this execution.
void start_engine(JoinState *state) {
  resolve_threshold(state);
  const bool self_join = state->facts.read_once;
  state->method = choose_method(state->measure, state->threshold, state->facts.jointype);
  state->started = true;
  if (asks_for_existence(state->facts.jointype))
    state->done_rows = static_cast<DoneRows *>(MemoryContextAllocZero(state->context, sizeof(DoneRows)));
  if (state->method.by_bands) {
    LshSpec spec = band_join_spec(state->method, state->measure, state->threshold, self_join);
    spec.done_rows = state->done_rows;
    prepare_gpu_use();
    state->engine = state->bands = own(state->context, [&] { return make_lsh_join(spec); });
  } else {
    JoinSpec spec = spec_from_settings(state->measure, state->threshold);
    spec.self_join = self_join;
    spec.done_rows = state->done_rows;
    state->engine = create_engine(spec, state->context);
  }
  state->batch = create_batch(state->context);
  state->batch_position = 0;
  state->swapped = false;
}

bool keeps_unmatched(JoinType jointype, Side side) {
  return jointype == JOIN_FULL || (side == Side::left && (jointype == JOIN_LEFT || jointype == JOIN_ANTI));
}

bool needs_matched(JoinType jointype, Side side) {
  return keeps_unmatched(jointype, side) || (side == Side::left && jointype == JOIN_SEMI);
}

// Feeds one side and keeps of its rows what is needed.
void feed_side(JoinState *state, Side side) {
  const size_t row_memory = row_share(memory_limit_bytes());
  JoinInput *input = &state->inputs[static_cast<int>(side)];
  if (input->kept_count > 0)
    input->reader.store = create_row_store(state->context, input->descriptor, row_memory);
  feed_input(state, side);
}

// Makes the left side's rows those of the right side, too.
void share_rows(JoinState *state) {
  JoinInput *left = &state->inputs[0], *right = &state->inputs[1];
  right->reader.store = left->reader.store;
  right->row_count = left->row_count;
  right->matchless = left->matchless;
  right->matchless_bytes = left->matchless_bytes;
}

void feed(JoinState *state) {
  instr_time start, end;
  INSTR_TIME_SET_CURRENT(start);
  start_engine(state);
  feed_side(state, Side::left);
  if (state->facts.read_once) {
    share_rows(state);
  } else {
    feed_side(state, Side::right);
  }
  for (Side side : {Side::left, Side::right}) {
    JoinInput &input = state->inputs[static_cast<int>(side)];
    input.current_row = no_row;
    if (needs_matched(state->facts.jointype, side))
      input.matched = allocate_bits(state->context, input.row_count);
  }
  if (state->done_rows != nullptr) state->done_rows->bits = state->inputs[0].matched;
  INSTR_TIME_SET_CURRENT(end);
  INSTR_TIME_ACCUM_DIFF(state->scan_time, end, start);
}

// ---- Pairs: the engine's pairs become joined rows ----

// Fills the scan tuple's columns of one side, from the row or, for no_row, with NULLs.
void fill_side(JoinState *state, JoinInput *input, uint32_t row) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  if (input->used_count == 0) return;
  if (row != no_row && row != input->current_row) read_row(&input->reader, row, input->values, input->nulls);
  input->current_row = row;
  for (int i = 0; i < input->used_count; ++i) {
    const int kept = input->kept_columns[i];
    slot->tts_values[input->scan_columns[i]] = row == no_row ? static_cast<Datum>(0) : input->values[kept];
    slot->tts_isnull[input->scan_columns[i]] = row == no_row || input->nulls[kept];
  }
}

// Returns whether all pairs of a row with itself are alike, so that they need not wait for the engine to know
// how many tokens a set has: where empty sets match nothing.
bool same_rows_are_alike(const JoinState *state) {
  return state->measure != Measure::overlap && state->threshold > 0;
}

// Returns the similarity, or the distance, of a pair of rows that both are there.
Datum similarity_of(const JoinState *state, const JoinPair &pair) {
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
  const bool isnull = pair.left == no_row || pair.right == no_row;
  const Datum value = isnull ? static_cast<Datum>(0) : similarity_of(state, pair);
  for (int i = 0; i < state->similarity_count; ++i) {
    slot->tts_values[state->similarity_columns[i]] = value;
    slot->tts_isnull[state->similarity_columns[i]] = isnull;
  }
}

// Stores the pair (with no_row on one side: a row without a partner) as the node's scan tuple.
void fill_scan_tuple(JoinState *state, const JoinPair &pair) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  ExecClearTuple(slot);
  fill_side(state, &state->inputs[0], pair.left);
  fill_side(state, &state->inputs[1], pair.right);
  fill_similarity(state, pair);
  ExecStoreVirtualTuple(slot);
  state->css.ss.ps.ps_ExprContext->ecxt_scantuple = slot;
}

// Returns whether rows wait in a temporary file, so that it matters in which order they are read.
bool reads_from_file(const JoinState *state) {
  for (const JoinInput &input : state->inputs)
    if (input.reader.store != nullptr && input.reader.store->file != nullptr) return true;
  return false;
}

// Replaces the batch by the engine's next one; false at the end.
bool fetch_batch(JoinState *state) {
  instr_time start, end;
  INSTR_TIME_SET_CURRENT(start);
  const bool more = next_batch(state->engine, &state->spill_file, state->batch, reads_from_file(state));
  INSTR_TIME_SET_CURRENT(end);
  INSTR_TIME_ACCUM_DIFF(state->engine_time, end, start);
  state->batch_position = 0;
  // The engine knows a similarity only, and one that all pairs within a distance reach.
  if (more && state->facts.distance && state->threshold > 0)
    state->beyond += drop_beyond_distance(state->batch, state->engine, state->facts.read_once, state->limit,
                                          state->facts.strict);
  if (!more && state->bands != nullptr) report_chained_buckets(state->bands->lsh_stats(), "similarity join");
  return more;
}

// Takes the next pair of the engine. A pair of a join of the same rows is given both ways round.
bool next_engine_pair(JoinState *state, JoinPair *pair) {
  while (state->batch_position == state->batch->size())
    if (!fetch_batch(state)) return false;
  const size_t i = state->batch_position;
  if (i + pairs_ahead < state->batch->size() && !state->swapped) {
    prefetch_row(&state->inputs[0].reader, state->batch->left[i + pairs_ahead]);
    prefetch_row(&state->inputs[1].reader, state->batch->right[i + pairs_ahead]);
  }
  *pair = {state->batch->left[i], state->batch->right[i], state->batch->overlap[i]};
  if (state->swapped) std::swap(pair->left, pair->right);
  if (!state->facts.read_once || state->swapped) ++state->batch_position;
  state->swapped = state->facts.read_once && !state->swapped;
  return true;
}

// Gives each row of a join of the same rows that matches itself, paired with itself.
bool next_same_row(JoinState *state, JoinPair *pair) {
  const bool alike = same_rows_are_alike(state);
  while (state->next_row < state->inputs[0].row_count) {
    const uint32_t row = state->next_row++;
    if (row % 4096 == 0) CHECK_FOR_INTERRUPTS();
    const uint32_t size = alike ? 1 : state->engine->set_size(Side::left, row);
    *pair = {row, row, size};
    // An empty set that is not known to match nothing does where every pair does.
    if (similarity(state->measure, size, size, size) >= state->threshold) return true;
  }
  return false;
}

void enter(JoinState *state, JoinPhase phase) {
  state->phase = phase;
  state->next_row = 0;
}

// Goes on to the next kind of pairs; false where there is none. Those of a row with itself come first, before
// the engine begins: a LIMIT that they satisfy does not wait for it.
bool enter_next_pairs(JoinState *state) {
  const bool same_rows = state->facts.read_once && !state->facts.skip_same_row;
  const bool alike = same_rows_are_alike(state);
  const JoinPhase first = same_rows && alike ? JoinPhase::same_row : JoinPhase::pairs;
  const JoinPhase last = same_rows && !alike ? JoinPhase::same_row : JoinPhase::pairs;
  if (state->phase == last) return false;
  enter(state, state->phase == JoinPhase::feed ? first : last);
  return true;
}

// Gives the next pair of rows that satisfies the similarity clause; false once there is no more.
bool next_pair(JoinState *state, JoinPair *pair) {
  for (;;) {
    const bool found =
        state->phase == JoinPhase::pairs ? next_engine_pair(state, pair) : next_same_row(state, pair);
    if (!found && !enter_next_pairs(state)) return false;
    if (found && !is_matchless(state->inputs[0], pair->left) && !is_matchless(state->inputs[1], pair->right))
      return true;
  }
}

// Finds the next pair that matches by all the join's clauses and yields a row, and makes it the scan tuple.
bool next_match(JoinState *state) {
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  const JoinType jointype = state->facts.jointype;
  JoinPair pair;
  while (next_pair(state, &pair)) {
    CHECK_FOR_INTERRUPTS();
    JoinInput &left = state->inputs[0], &right = state->inputs[1];
    if (asks_for_existence(jointype) && get_bit(left.matched, pair.left)) continue;
    ResetExprContext(context);
    fill_scan_tuple(state, pair);
    if (!ExecQual(state->join_quals, context)) {
      InstrCountFiltered1(&state->css.ss.ps, 1);
      continue;
    }
    if (left.matched != nullptr) set_bit(left.matched, pair.left);
    if (right.matched != nullptr) set_bit(right.matched, pair.right);
    if (jointype != JOIN_ANTI) return true;
  }
  return false;
}

// Finds the next row of a side without a partner and makes it the scan tuple, NULLs on the other side.
bool next_unmatched(JoinState *state, Side side) {
  const JoinInput &input = state->inputs[static_cast<int>(side)];
  if (input.matched == nullptr || !keeps_unmatched(state->facts.jointype, side)) return false;
  while (state->next_row < input.row_count) {
    const uint32_t row = state->next_row++;
    if (row % 4096 == 0) CHECK_FOR_INTERRUPTS();
    if (get_bit(input.matched, row)) continue;
    ResetExprContext(state->css.ss.ps.ps_ExprContext);
    fill_scan_tuple(state, side == Side::left ? JoinPair{row, no_row, 0} : JoinPair{no_row, row, 0});
    return true;
  }
  return false;
}

// Makes the next joined row the scan tuple; false at the end.
bool next_joined_row(JoinState *state) {
  for (;;) {
    switch (state->phase) {
      case JoinPhase::feed:
        feed(state);
        enter_next_pairs(state);
        break;
      case JoinPhase::pairs:
      case JoinPhase::same_row:
        if (next_match(state)) return true;
        enter(state, JoinPhase::unmatched_left);
        break;
      case JoinPhase::unmatched_left:
        if (next_unmatched(state, Side::left)) return true;
        enter(state, JoinPhase::unmatched_right);
        break;
      case JoinPhase::unmatched_right:
        if (next_unmatched(state, Side::right)) return true;
        enter(state, JoinPhase::done);
        break;
      case JoinPhase::done:
        return false;
    }
  }
}

TupleTableSlot *exec_join(CustomScanState *node) {
  JoinState *state = state_of(node);
  ExprContext *context = node->ss.ps.ps_ExprContext;
  while (next_joined_row(state)) {
    if (!ExecQual(node->ss.ps.qual, context)) {
      InstrCountFiltered2(&node->ss.ps, 1);
      continue;
    }
    return node->ss.ps.ps_ProjInfo != nullptr ? ExecProject(node->ss.ps.ps_ProjInfo)
                                              : node->ss.ss_ScanTupleSlot;
  }
  return nullptr;
}

// ---- End ----

void discard_execution(JoinState *state) {
  add_execution_to_totals(state);
  close_spill_file(&state->spill_file);
  ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
  for (JoinInput &input : state->inputs) {
    const bool own_rows = &input == &state->inputs[0] || !state->facts.read_once;
    if (input.reader.store != nullptr && own_rows) close_row_store(input.reader.store);
    input.reader = {};
    input.row_count = 0;
    input.matchless = input.matched = nullptr;
    input.matchless_bytes = 0;
  }
  state->engine = state->bands = nullptr;
  state->done_rows = nullptr;
  state->batch = nullptr;
  MemoryContextReset(state->context);
  enter(state, JoinPhase::feed);
}

void rescan_join(CustomScanState *node) {
  discard_execution(state_of(node));
  ListCell *cell;
  foreach (cell, node->custom_ps) {
    auto *child = static_cast<PlanState *>(lfirst(cell));
    if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(child, node->ss.ps.chgParam);
    if (child->chgParam == nullptr) ExecReScan(child);
  }
}

void end_join(CustomScanState *node) {
  discard_execution(state_of(node));
  ListCell *cell;
  foreach (cell, node->custom_ps) ExecEndNode(static_cast<PlanState *>(lfirst(cell)));
}

const CustomExecMethods exec_methods = {
    join_node_name, begin_join, exec_join, end_join, rescan_join, nullptr,      nullptr,
    nullptr,        nullptr,    nullptr,   nullptr,  nullptr,     explain_join,
};

}  // namespace

double clause_threshold(const JoinPlanFacts &facts, Datum value, bool isnull, Oid type) {
  if (isnull) return std::numeric_limits<double>::quiet_NaN();  // nothing matches
  const double number = threshold_value(value, type);
  if (facts.distance) return similarity_at_distance(number, facts.strict);
  return facts.strict ? next_above(number) : number;
}

Node *create_join_state(CustomScan *) {
  auto *state = static_cast<JoinState *>(palloc0(sizeof(JoinState)));
  NodeSetTag(state, T_CustomScanState);
  state->css.methods = &exec_methods;
  return reinterpret_cast<Node *>(state);
}

}  // namespace simjoin::pg
