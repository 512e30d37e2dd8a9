// The execution of the node NearestPairs.
#include "pg/join/exec/nearest_pairs.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
}

#include <cmath>
#include <iterator>
#include <limits>

#include "pg/base/compat.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/join/clause/facts.hpp"

namespace simjoin::pg {
namespace {

// Thresholds of similarities are 1, 0.9 …, of distances 0, 0.1 …. The last one asks for a token in common.
constexpr int tenths = 10;
constexpr double overlaps[] = {std::numeric_limits<double>::infinity(), 256, 64, 16, 8, 4, 2, 1};

// What the child that runs looks for.
PairSearch pair_search = {std::numeric_limits<double>::quiet_NaN(), false};

struct NearestPairsState {
  CustomScanState css;
  NearestPairsPlan plan;
  bool whole_numbers;  // the similarity is an integer
  int step;            // of the search; after the last one all pairs come
  bool begun;          // the step has a row, or had one
  int64 taken;         // rows of the step
  int searches;        // for EXPLAIN ANALYZE: the most of an execution
  bool all_pairs;
};

NearestPairsState *nearest_pairs_state(CustomScanState *node) {
  return reinterpret_cast<NearestPairsState *>(node);
}

NearestPairsPlan read_nearest_pairs(const CustomScan *plan) {
  const List *encoded = plan->custom_private;
  return {.measure = static_cast<Measure>(list_nth_int(encoded, 0)),
          .distance = list_nth_int(encoded, 1) != 0,
          .nulls_first = list_nth_int(encoded, 2) != 0,
          .column = static_cast<AttrNumber>(list_nth_int(encoded, 3)),
          .first_step = list_nth_int(encoded, 4),
          .steps = list_nth_int(encoded, 5),
          .most_rows = list_nth_int(encoded, 6)};
}

void begin_nearest_pairs(CustomScanState *node, EState *estate, int eflags) {
  NearestPairsState *state = nearest_pairs_state(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->plan = read_nearest_pairs(plan);
  state->step = state->plan.first_step;
  const auto *column = list_nth_node(TargetEntry, plan->custom_scan_tlist, state->plan.column - 1);
  state->whole_numbers = exprType(reinterpret_cast<Node *>(column->expr)) == INT4OID;
  // Each step sorts anew.
  eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
  ListCell *cell;
  foreach (cell, plan->custom_plans)
    node->custom_ps =
        lappend(node->custom_ps, ExecInitNode(static_cast<Plan *>(lfirst(cell)), estate, eflags));
}

PlanState *child_of_step(const NearestPairsState *state) {
  const List *children = state->css.custom_ps;
  if (state->step == 0) return static_cast<PlanState *>(lthird(children));
  return static_cast<PlanState *>(state->step < state->plan.steps ? linitial(children) : lsecond(children));
}

// Begins a step with its child.
void begin_step(NearestPairsState *state, bool search, PlanState *child) {
  state->begun = true;
  state->taken = 0;
  state->searches = Max(state->searches, Min(state->step + 1, state->plan.steps) - state->plan.first_step);
  state->all_pairs |= !search;
  ExecReScan(child);
  // The pairs of earlier steps are among those of this one, and count towards the limit.
  if (state->plan.most_rows > 0) ExecSetTupleBound(state->plan.most_rows, child);
}

// Returns the next pair of the step, or an empty slot.
TupleTableSlot *next_of_step(NearestPairsState *state) {
  const NearestPairsPlan &plan = state->plan;
  const bool search = state->step < plan.steps;
  PlanState *child = child_of_step(state);
  const PairSearch outer_search = pair_search;
  if (search)
    pair_search = {threshold_of_step(plan.measure, plan.distance, state->step),
                   plan.nulls_first && state->step == plan.first_step};
  TupleTableSlot *volatile slot = nullptr;
  // An error that a function in a condition catches must not leave this node's search to the caller's.
  PG_TRY();
  {
    if (!state->begun) begin_step(state, search, child);
    // A step of inputs that have changed since the last one may have other rows than are asked for.
    if (plan.most_rows == 0 || state->taken < plan.most_rows) slot = ExecProcNode(child);
    ++state->taken;
  }
  PG_FINALLY();
  { pair_search = outer_search; }
  PG_END_TRY();
  return slot;
}

// Returns whether the pair came in an earlier step.
bool came_before(const NearestPairsState *state, TupleTableSlot *slot) {
  const NearestPairsPlan &plan = state->plan;
  if (state->step == plan.first_step) return false;
  bool isnull;
  const Datum datum = slot_getattr(slot, plan.column, &isnull);
  if (isnull) return plan.nulls_first;
  const double value = state->whole_numbers ? DatumGetInt32(datum) : DatumGetFloat8(datum);
  const double threshold = threshold_of_step(plan.measure, plan.distance, state->step - 1);
  return plan.distance ? value <= threshold : value >= threshold;
}

TupleTableSlot *exec_nearest_pairs(CustomScanState *node) {
  NearestPairsState *state = nearest_pairs_state(node);
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
    const auto columns = static_cast<size_t>(result->tts_tupleDescriptor->natts);
    memcpy(result->tts_values, slot->tts_values, sizeof(Datum) * columns);
    memcpy(result->tts_isnull, slot->tts_isnull, sizeof(bool) * columns);
    ExecStoreVirtualTuple(result);
    ExprContext *context = node->ss.ps.ps_ExprContext;
    ResetExprContext(context);
    context->ecxt_scantuple = result;
    return node->ss.ps.ps_ProjInfo != nullptr ? ExecProject(node->ss.ps.ps_ProjInfo) : result;
  }
  return nullptr;
}

void rescan_nearest_pairs(CustomScanState *node) {
  NearestPairsState *state = nearest_pairs_state(node);
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  state->step = state->plan.first_step;
  state->begun = false;
  ListCell *cell;
  foreach (cell, node->custom_ps)
    if (node->ss.ps.chgParam != nullptr)
      UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), node->ss.ps.chgParam);
}

void end_nearest_pairs(CustomScanState *node) {
  ExecClearTuple(node->ss.ss_ScanTupleSlot);
  end_inputs(node);
}

void explain_nearest_pairs(CustomScanState *node, List *, ExplainState *es) {
  const NearestPairsState *state = nearest_pairs_state(node);
  const NearestPairsPlan &plan = state->plan;
  if (!es->analyze) return;
  ExplainPropertyInteger("Searches", nullptr, state->searches, es);
  if (state->searches > 0)
    ExplainPropertyFloat(
        plan.distance ? "Largest Distance" : "Least Similarity", nullptr,
        threshold_of_step(plan.measure, plan.distance, plan.first_step + state->searches - 1),
        plan.measure == Measure::overlap ? 0 : 1, es);
  ExplainPropertyBool("All Pairs Compared", state->all_pairs, es);
}

const CustomExecMethods nearest_pairs_exec_methods = exec_methods_of({.name = nearest_pairs_name,
                                                                      .begin = begin_nearest_pairs,
                                                                      .exec = exec_nearest_pairs,
                                                                      .end = end_nearest_pairs,
                                                                      .rescan = rescan_nearest_pairs,
                                                                      .explain = explain_nearest_pairs});

}  // namespace

List *encode_nearest_pairs(const NearestPairsPlan &plan) {
  List *encoded = list_make5_int(static_cast<int>(plan.measure), plan.distance, plan.nulls_first, plan.column,
                                 plan.first_step);
  return list_concat(encoded, list_make2_int(plan.steps, plan.most_rows));
}

int count_steps(Measure measure) {
  return measure == Measure::overlap ? static_cast<int>(std::size(overlaps)) : tenths + 1;
}

double threshold_of_step(Measure measure, bool distance, int step) {
  if (measure == Measure::overlap) return overlaps[step];
  if (distance) return step < tenths ? step / 10.0 : std::nextafter(1.0, 0.0);
  return step < tenths ? (tenths - step) / 10.0 : std::numeric_limits<double>::min();
}

PairSearch current_pair_search() {
  return pair_search;
}

Node *create_nearest_pairs_state(CustomScan *) {
  return make_node_state<NearestPairsState>(&nearest_pairs_exec_methods);
}

}  // namespace simjoin::pg
