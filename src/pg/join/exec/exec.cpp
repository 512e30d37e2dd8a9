#include "pg/join/exec/exec.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
}

#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/computation/engine.hpp"
#include "pg/join/exec/aside.hpp"
#include "pg/join/exec/explain.hpp"
#include "pg/join/exec/feed.hpp"
#include "pg/join/exec/inputs.hpp"
#include "pg/join/exec/null_pairs.hpp"
#include "pg/join/exec/pairs.hpp"
#include "pg/join/exec/phase_log.hpp"
#include "pg/join/exec/stream.hpp"

namespace simjoin::pg {
namespace {

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

// Lists the used columns of the scan tuple that hold the similarity. Without any, the similarity is not
// computed.
void init_similarity(JoinState *state, Bitmapset *used) {
  state->similarity_columns = static_cast<int *>(palloc(sizeof(int) * state->column_count));
  for (int i = 0; i < state->column_count; ++i)
    if (state->columns[i].source == ColumnSource::similarity && bms_is_member(i, used))
      state->similarity_columns[state->similarity_count++] = i;
}

void begin_join(CustomScanState *node, EState *estate, int eflags) {
  JoinState *state = state_of(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->facts = read_plan(plan, &state->columns);
  state->column_count = list_length(plan->custom_scan_tlist);
  begin_inputs(node, estate, eflags);
  state->inputs[Side::left].child = static_cast<PlanState *>(linitial(node->custom_ps));
  state->inputs[Side::right].child = static_cast<PlanState *>(llast(node->custom_ps));
  state->context = AllocSetContextCreate(estate->es_query_cxt, "simjoin execution", ALLOCSET_DEFAULT_SIZES);
  init_block_inputs(state, estate);

  auto *threshold = reinterpret_cast<Expr *>(plan_expression(plan, JoinExpr::threshold));
  state->threshold_type = threshold == nullptr ? InvalidOid : exprType(reinterpret_cast<Node *>(threshold));
  state->threshold_expr = ExecInitExpr(threshold, &node->ss.ps);
  auto *join_quals = reinterpret_cast<List *>(plan_expression(plan, JoinExpr::join_quals));
  state->join_quals = ExecInitQual(join_quals, &node->ss.ps);
  init_aside(state, join_quals);

  Bitmapset *used = used_columns(plan);
  init_inputs(state, plan, used);
  init_similarity(state, used);
  state->totals.engine = own(estate->es_query_cxt, [] { return std::make_unique<JoinStats>(); });
  state->totals.keep = (estate->es_instrument != 0);
  state->phase = JoinPhase::feed;
}

// ---- A recheck (EvalPlanQual) ----

// Lets the scans below the join give the rows of a recheck, if there is one. Called before the inputs are
// read.
//
// In a recheck PostgreSQL has waited for the writer of a row that a statement is to lock or change. It runs
// the statement's plan once more, in which each scan of the row's relation gives the row's new version alone,
// and scans of the other relations the rows that it was joined with. PostgreSQL takes it that a plan has one
// scan of a relation. It notes by relation, not by scan, that the row has been given, until that scan begins
// again. The joins of a disjunction's arms scan the same relations one after the other, so each makes its own
// scans begin again.
void begin_recheck(JoinState *state) {
  EState *estate = state->css.ss.ps.state;
  if (estate->es_epq_active == nullptr) return;
  // PostgreSQL itself goes from one recheck to the next by this parameter, which all scans depend on. A plain
  // ExecReScan() would not reach scans below nodes that have not begun, such as a sort.
  MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
  Bitmapset *changed = bms_make_singleton(estate->es_epq_active->epqParam);
  ListCell *cell;
  foreach (cell, state->css.custom_ps) UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), changed);
  bms_free(changed);
  MemoryContextSwitchTo(old);
}

// ---- Rows ----

// Notes that the rows of a pair have a partner.
void note_partners(JoinState *state, const JoinPair &pair) {
  JoinInput &left = state->inputs[Side::left], &right = state->inputs[Side::right];
  if (state->facts.asks_for_existence()) --state->stream.wanting;
  if (left.matched.bits != nullptr) set_row(&left.matched, pair.left);
  if (right.matched.bits != nullptr) set_row(&right.matched, pair.right);
  left.slot_matched = right.slot_matched = true;
}

// Returns whether the node that searches by the join gives the search up.
bool is_given_up(const JoinState *state) {
  return state->search.pairs_left != nullptr && *state->search.pairs_left < 0;
}

// Finds the next pair that satisfies all of the join's clauses and yields a row. Makes it the scan tuple.
bool next_match(JoinState *state) {
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  const JoinType jointype = state->facts.jointype;
  JoinPair pair;
  while (!is_given_up(state) && !streamed_row_is_done(state) && next_pair(state, &pair)) {
    check_interrupts();
    if (state->facts.asks_for_existence() && has_partner(state->inputs[Side::left], pair.left)) continue;
    ResetExprContext(context);
    fill_scan_tuple(state, pair);
    const bool matches = ExecQual(state->join_quals, context);
    if (state->search.pairs_left != nullptr) *state->search.pairs_left += matches ? 1 : -1;
    if (!matches) {
      InstrCountFiltered1(&state->css.ss.ps, 1);
      continue;
    }
    if (state->facts.one_way) end_one_way(state, pair);
    note_partners(state, pair);
    if (jointype != JOIN_ANTI) return true;
  }
  return false;
}

// Finds the next row of the result that has a row of the streamed side: pairs, row by row, and rows without a
// partner. Makes it the scan tuple.
bool next_of_stream(JoinState *state) {
  do {
    if (next_match(state) || end_streamed_row(state)) return true;
  } while (!is_given_up(state) && next_streamed_row(state));
  return false;
}

// Finds the side's next row without a partner. Makes it the scan tuple, with NULLs for the other side.
bool next_unmatched(JoinState *state, Side side) {
  const JoinInput &input = state->inputs[side];
  if (input.matched.bits == nullptr || !state->facts.keeps_unmatched(side)) return false;
  while (state->next_row < input.row_count) {
    const uint32_t row = state->next_row++;
    if (row % 4096 == 0) check_interrupts();
    if (has_row(input.matched, row)) continue;
    ResetExprContext(state->css.ss.ps.ps_ExprContext);
    fill_scan_tuple(state, side == Side::left ? JoinPair{row, no_row, 0} : JoinPair{no_row, row, 0});
    return true;
  }
  return false;
}

void discard_execution(JoinState *state) {
  log_search(state);
  add_execution_to_totals(state);
  close_spill_file(&state->engine.spill_file);
  ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
  for (JoinInput &input : state->inputs.sides) {
    const bool own_rows = &input == &state->inputs[Side::left] || !state->facts.read_once;
    if (input.reader.store != nullptr && own_rows) close_row_store(input.reader.store);
    input.reader = {};
    if (input.blocks != nullptr) end_block_input(input.blocks);
    input.row_count = 0;
    input.slot = nullptr;
    input.key_slots = input.without_set = input.matchless = input.weightless = input.matched = {};
  }
  state->engine = {};
  state->stream = {};
  state->null_pairs = {};
  discard_aside(state);
  MemoryContextReset(state->context);
  enter(state, JoinPhase::feed);
}

// Makes the next joined row the scan tuple. Returns false at the end.
bool next_joined_row(JoinState *state) {
  for (;;) {
    if (is_given_up(state) && state->phase != JoinPhase::feed && state->phase != JoinPhase::done) {
      discard_execution(state);
      enter(state, JoinPhase::done);
    }
    switch (state->phase) {
      case JoinPhase::feed:
        begin_recheck(state);
        // What runs while the inputs are read may make searches of its own.
        if (state->facts.ranked) state->search = current_pair_search();
        feed(state);
        begin_aside(state);
        if (state->engine.join == nullptr) {
          enter(state, JoinPhase::unmatched_left);
        } else if (state->engine.streamed) {
          enter(state, JoinPhase::stream);
        } else {
          enter(state, JoinPhase::null_pairs);
        }
        break;
      case JoinPhase::null_pairs:
        if (next_null_pair(state)) return true;
        enter_next_pairs(state);
        break;
      case JoinPhase::pairs:
      case JoinPhase::same_row:
        if (next_match(state)) return true;
        end_aside(state);
        enter(state, JoinPhase::unmatched_left);
        break;
      case JoinPhase::stream:
        if (next_of_stream(state)) return true;
        end_aside(state);
        enter(state, JoinPhase::unmatched_left);
        break;
      case JoinPhase::unmatched_left:
        if (next_unmatched(state, Side::left)) return true;
        enter(state, JoinPhase::unmatched_right);
        break;
      case JoinPhase::unmatched_right:
        if (next_unmatched(state, Side::right)) return true;
        discard_execution(state);  // the plan may have other joins that need the memory
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

void rescan_join(CustomScanState *node) {
  discard_execution(state_of(node));
  pass_changed_parameters(node);
  ListCell *cell;
  foreach (cell, node->custom_ps) {
    auto *child = static_cast<PlanState *>(lfirst(cell));
    if (child->chgParam == nullptr) ExecReScan(child);
  }
}

void end_join(CustomScanState *node) {
  discard_execution(state_of(node));
  end_inputs(node);
}

const CustomExecMethods exec_methods = exec_methods_of({.name = join_node_name,
                                                        .begin = begin_join,
                                                        .exec = exec_join,
                                                        .end = end_join,
                                                        .rescan = rescan_join,
                                                        .explain = explain_join});

}  // namespace

Node *create_join_state(CustomScan *) {
  return make_node_state<JoinState>(&exec_methods);
}

}  // namespace simjoin::pg
