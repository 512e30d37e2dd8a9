// The execution of the node NearestSets.
#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
}

#include <cmath>
#include <limits>

#include "pg/base/compat.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/index/nearest.hpp"
#include "pg/index/set_query.hpp"
#include "pg/join/clause/facts.hpp"

namespace simjoin::pg {
namespace {

// The distance within which similarity_query_nearest() searches. A child of the node reads all its rows in
// the first call of a step, and the distance is set for that time only.
double current_distance = std::numeric_limits<double>::quiet_NaN();

struct NearestState {
  CustomScanState css;
  NearestPlan plan;
  int step;      // of the search; after the last one the table is read
  bool begun;    // the step has a row
  int searches;  // for EXPLAIN ANALYZE: the most of an execution
  bool read_all;
};

NearestState *state_of(CustomScanState *node) {
  return reinterpret_cast<NearestState *>(node);
}

void begin_nearest(CustomScanState *node, EState *estate, int eflags) {
  NearestState *state = state_of(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->plan = read_nearest_plan(plan);
  // Each step sorts anew.
  eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
  ListCell *cell;
  foreach (cell, plan->custom_plans)
    node->custom_ps =
        lappend(node->custom_ps, ExecInitNode(static_cast<Plan *>(lfirst(cell)), estate, eflags));
}

// Returns the next row of the step, or an empty slot.
TupleTableSlot *next_of_step(NearestState *state) {
  const bool search = state->step < state->plan.steps;
  auto *child =
      static_cast<PlanState *>(search ? linitial(state->css.custom_ps) : lsecond(state->css.custom_ps));
  const double outer_distance = current_distance;
  if (search) current_distance = search_distance(state->step);
  if (!state->begun) {
    state->begun = true;
    state->searches = Max(state->searches, Min(state->step + 1, state->plan.steps));
    state->read_all |= !search;
    ExecReScan(child);
    // All rows are read. The first ones came in earlier steps, and count towards the limit.
    if (!search && state->plan.most_rows > 0) ExecSetTupleBound(state->plan.most_rows, child);
  }
  TupleTableSlot *slot = ExecProcNode(child);
  current_distance = outer_distance;
  return slot;
}

// Returns whether the row came in an earlier step.
bool came_before(const NearestState *state, TupleTableSlot *slot) {
  if (state->step == 0) return false;
  bool isnull;
  const Datum distance = slot_getattr(slot, state->plan.distance, &isnull);
  return !isnull && DatumGetFloat8(distance) <= search_distance(state->step - 1);
}

TupleTableSlot *exec_nearest(CustomScanState *node) {
  NearestState *state = state_of(node);
  TupleTableSlot *result = node->ss.ss_ScanTupleSlot;
  ExecClearTuple(result);
  while (state->step <= state->plan.steps) {
    check_interrupts();
    TupleTableSlot *slot = next_of_step(state);
    if (TupIsNull(slot)) {
      ++state->step;
      state->begun = false;
      continue;
    }
    if (came_before(state, slot)) continue;
    slot_getallattrs(slot);
    const int columns = result->tts_tupleDescriptor->natts;
    for (int i = 0; i < columns; ++i) {
      result->tts_values[i] = slot->tts_values[i];
      result->tts_isnull[i] = slot->tts_isnull[i];
    }
    ExecStoreVirtualTuple(result);
    ExprContext *context = node->ss.ps.ps_ExprContext;
    ResetExprContext(context);
    context->ecxt_scantuple = result;
    return node->ss.ps.ps_ProjInfo != nullptr ? ExecProject(node->ss.ps.ps_ProjInfo) : result;
  }
  return nullptr;
}

void rescan_nearest(CustomScanState *node) {
  NearestState *state = state_of(node);
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  state->step = 0;
  state->begun = false;
  ListCell *cell;
  foreach (cell, node->custom_ps)
    if (node->ss.ps.chgParam != nullptr)
      UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), node->ss.ps.chgParam);
}

void end_nearest(CustomScanState *node) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  end_inputs(node);
}

void explain_nearest(CustomScanState *node, List *, ExplainState *es) {
  const NearestState *state = state_of(node);
  if (!es->analyze) return;
  ExplainPropertyInteger("Searches", nullptr, state->searches, es);
  if (state->searches > 0)
    ExplainPropertyFloat("Largest Distance", nullptr, search_distance(state->searches - 1), 1, es);
  ExplainPropertyBool("All Rows Read", state->read_all, es);
}

const CustomExecMethods exec_methods = exec_methods_of({.name = nearest_sets_name,
                                                        .begin = begin_nearest,
                                                        .exec = exec_nearest,
                                                        .end = end_nearest,
                                                        .rescan = rescan_nearest,
                                                        .explain = explain_nearest});

}  // namespace

Node *create_nearest_state(CustomScan *) {
  return make_node_state<NearestState>(&exec_methods);
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_query_nearest);
Datum simjoin_similarity_query_nearest(PG_FUNCTION_ARGS) {
  if (std::isnan(current_distance)) PG_RETURN_NULL();  // no node searches
  PG_RETURN_DATUM(make_distance_query(PG_GETARG_DATUM(0), current_distance));
}
}

}  // namespace simjoin::pg
