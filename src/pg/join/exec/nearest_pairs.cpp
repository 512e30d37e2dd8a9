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
#include "pg/base/scan_nodes.hpp"
#include "pg/base/stepped_search.hpp"
#include "pg/join/clause/facts.hpp"

namespace simjoin::pg {
namespace {

// Thresholds of similarities are 1, 0.9 …, of distances 0, 0.1 …. The last one asks for a token in common.
constexpr int tenths = 10;
constexpr double overlaps[] = {std::numeric_limits<double>::infinity(), 256, 64, 16, 8, 4, 2, 1};

// What the child that runs looks for.
PairSearch pair_search = {std::numeric_limits<double>::quiet_NaN(), false, nullptr};

struct NearestPairsState {
  CustomScanState css;
  NearestPairsPlan plan;
  bool whole_numbers;  // the similarity is an integer
  SteppedSearch search;
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
          .most_rows = list_nth_int(encoded, 6),
          .most_pairs = list_nth_int(encoded, 7)};
}

void begin_nearest_pairs(CustomScanState *node, EState *estate, int eflags) {
  NearestPairsState *state = nearest_pairs_state(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->plan = read_nearest_pairs(plan);
  const auto *column = list_nth_node(TargetEntry, plan->custom_scan_tlist, state->plan.column - 1);
  state->whole_numbers = exprType(reinterpret_cast<Node *>(column->expr)) == INT4OID;
  begin_steps(node, &state->search, state->plan.first_step, state->plan.steps, state->plan.most_rows,
              state->plan.most_pairs == 0 ? unlimited_work : state->plan.most_pairs, estate, eflags);
}

PlanState *child_of_step(const NearestPairsState *state) {
  const List *children = state->css.custom_ps;
  if (state->search.step == 0) return static_cast<PlanState *>(lthird(children));
  return static_cast<PlanState *>(state->search.searching() ? linitial(children) : lsecond(children));
}

// Returns whether the pair came in an earlier step.
bool came_before(const NearestPairsState *state, TupleTableSlot *slot) {
  const NearestPairsPlan &plan = state->plan;
  bool isnull;
  const Datum datum = slot_getattr(slot, plan.column, &isnull);
  if (isnull) return plan.nulls_first;
  const double value = state->whole_numbers ? DatumGetInt32(datum) : DatumGetFloat8(datum);
  const double threshold = threshold_of_step(plan.measure, plan.distance, state->search.finished);
  return plan.distance ? value <= threshold : value >= threshold;
}

// Returns what the child of a step looks for.
PairSearch search_of_step(NearestPairsState *state) {
  const NearestPairsPlan &plan = state->plan;
  const int step = state->search.step;
  if (!state->search.searching()) return {};
  return {threshold_of_step(plan.measure, plan.distance, step), plan.nulls_first && step == plan.first_step,
          &state->search.work_left};
}

TupleTableSlot *exec_nearest_pairs(CustomScanState *node) {
  NearestPairsState *state = nearest_pairs_state(node);
  return exec_steps(
      node, &state->search, &pair_search, [state] { return child_of_step(state); },
      [state] { return search_of_step(state); },
      [state](TupleTableSlot *pair) { return came_before(state, pair); });
}

void rescan_nearest_pairs(CustomScanState *node) {
  rescan_steps(node, &nearest_pairs_state(node)->search);
}

void explain_nearest_pairs(CustomScanState *node, List *, ExplainState *es) {
  const NearestPairsState *state = nearest_pairs_state(node);
  const NearestPairsPlan &plan = state->plan;
  if (!es->analyze) return;
  ExplainPropertyInteger("Searches", nullptr, state->search.searches, es);
  if (state->search.searches > 0)
    ExplainPropertyFloat(
        plan.distance ? "Largest Distance" : "Least Similarity", nullptr,
        threshold_of_step(plan.measure, plan.distance, plan.first_step + state->search.searches - 1),
        plan.measure == Measure::overlap ? 0 : 1, es);
  if (state->search.has_given_up) ExplainPropertyBool("Searches Given Up", true, es);
  ExplainPropertyBool("All Pairs Compared", state->search.all_rows, es);
}

const CustomExecMethods nearest_pairs_exec_methods = exec_methods_of({.name = nearest_pairs_name,
                                                                      .begin = begin_nearest_pairs,
                                                                      .exec = exec_nearest_pairs,
                                                                      .end = end_steps,
                                                                      .rescan = rescan_nearest_pairs,
                                                                      .explain = explain_nearest_pairs});

}  // namespace

List *encode_nearest_pairs(const NearestPairsPlan &plan) {
  List *encoded = list_make5_int(static_cast<int>(plan.measure), plan.distance, plan.nulls_first, plan.column,
                                 plan.first_step);
  return list_concat(encoded, list_make3_int(plan.steps, plan.most_rows, plan.most_pairs));
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
