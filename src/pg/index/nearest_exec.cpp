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
#include "pg/base/scan_nodes.hpp"
#include "pg/base/stepped_search.hpp"
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
  SteppedSearch search;
};

NearestState *state_of(CustomScanState *node) {
  return reinterpret_cast<NearestState *>(node);
}

void begin_nearest(CustomScanState *node, EState *estate, int eflags) {
  NearestState *state = state_of(node);
  auto *plan = castNode(CustomScan, node->ss.ps.plan);
  state->plan = read_nearest_plan(plan);
  begin_steps(node, &state->search, 0, state->plan.steps, state->plan.most_rows, unlimited_work, estate,
              eflags);
}

// Returns whether the row came in an earlier step.
bool came_before(const NearestState *state, TupleTableSlot *slot) {
  bool isnull;
  const Datum distance = slot_getattr(slot, state->plan.distance, &isnull);
  return !isnull && DatumGetFloat8(distance) <= search_distance(state->search.finished);
}

TupleTableSlot *exec_nearest(CustomScanState *node) {
  NearestState *state = state_of(node);
  const SteppedSearch &search = state->search;
  return exec_steps(
      node, &state->search, &current_distance,
      [&] {
        const List *children = node->custom_ps;
        return static_cast<PlanState *>(search.searching() ? linitial(children) : lsecond(children));
      },
      [&] { return search.searching() ? search_distance(search.step) : 0; },
      [&](TupleTableSlot *row) { return came_before(state, row); });
}

void rescan_nearest(CustomScanState *node) {
  rescan_steps(node, &state_of(node)->search);
}

void explain_nearest(CustomScanState *node, List *, ExplainState *es) {
  const NearestState *state = state_of(node);
  if (!es->analyze) return;
  ExplainPropertyInteger("Searches", nullptr, state->search.searches, es);
  if (state->search.searches > 0)
    ExplainPropertyFloat("Largest Distance", nullptr, search_distance(state->search.searches - 1), 1, es);
  ExplainPropertyBool("All Rows Read", state->search.all_rows, es);
}

const CustomExecMethods exec_methods = exec_methods_of({.name = nearest_sets_name,
                                                        .begin = begin_nearest,
                                                        .exec = exec_nearest,
                                                        .end = end_steps,
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
