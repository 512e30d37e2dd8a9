#include "pg/index/nearest.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/compat_paths.hpp"
#include "pg/base/limit.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/index/index_options.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/clause/threshold.hpp"

namespace simjoin::pg {
namespace {

constexpr int most_steps = 9;

const CustomScanMethods plan_methods = {.CustomName = nearest_sets_name,
                                        .CreateCustomScanState = create_nearest_state};

// A path of the node: the index is searched, or else the table is read, and the rows are sorted.
struct NearestPath {
  CustomPath custom;
  Expr *distance;
  int steps;
  int most_rows;
};

// Returns whether conditions of the query are to be evaluated before those that it would get from its order:
// under row-level security and in views that are security barriers. The number of rows that a search of the
// index finds would reveal rows that they hide.
bool has_security_barrier(PlannerInfo *root, RelOptInfo *rel) {
  return root->qual_security_level > rel->baserestrict_min_security;
}

// Returns the distance that the sort key is, if it is one from the column of the index; else NULL. `other` is
// the set from which it is. Where an equality in the query makes the key that of other expressions of the
// relation, too, the rows may be sorted by these.
Expr *sorted_distance(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column, const PathKey *key,
                      Expr **set, Expr **other) {
  if (!compat::ascends(key) || key->pk_nulls_first) return nullptr;
  Expr *expr = nullptr;
  int expressions = 0;
  compat::for_equal_expressions(key->pk_eclass, rel->relids, [&](Expr *equal) {
    expr = equal;
    ++expressions;
  });
  auto *node = reinterpret_cast<Node *>(expr);
  const bool found = expressions == 1 && exprType(node) == FLOAT8OID && describe_distance(node, set, other) &&
                     match_column(root, rel, column, set, other);
  return found ? expr : nullptr;
}

// Returns the bounds of sets within the distance of a step.
Bounds step_bounds(int step) {
  return {Measure::jaccard, similarity_at_distance(search_distance(step), false)};
}

Plan *plan_nearest(PlannerInfo *, RelOptInfo *, CustomPath *path, List *tlist, List *, List *custom_plans) {
  auto *nearest = reinterpret_cast<NearestPath *>(path);
  auto *child = static_cast<Plan *>(linitial(custom_plans));
  TargetEntry *distance = tlist_member(nearest->distance, child->targetlist);
  if (distance == nullptr) elog(ERROR, "nearest sets: distance not found in the output of the input");
  CustomScan *scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->scan.scanrelid = 0;
  scan->flags = path->flags;
  scan->custom_plans = custom_plans;
  scan->custom_scan_tlist = static_cast<List *>(copyObjectImpl(child->targetlist));
  ListCell *cell;
  foreach (cell, scan->custom_scan_tlist) lfirst_node(TargetEntry, cell)->resjunk = false;
  scan->custom_private = list_make3_int(distance->resno, nearest->steps, nearest->most_rows);
  scan->methods = &plan_methods;
  return &scan->scan.plan;
}

const CustomPathMethods path_methods = {.CustomName = nearest_sets_name,
                                        .PlanCustomPath = plan_nearest,
                                        .ReparameterizeCustomPathByChild = nullptr};

}  // namespace

double search_distance(int step) {
  return (step + 1) / 10.0;
}

void register_nearest_methods() {
  RegisterCustomScanMethods(&plan_methods);
}

NearestPlan read_nearest_plan(const CustomScan *plan) {
  return {static_cast<AttrNumber>(linitial_int(plan->custom_private)), lsecond_int(plan->custom_private),
          lthird_int(plan->custom_private)};
}

void offer_nearest(PlannerInfo *root, RelOptInfo *rel, const SetColumn &column) {
  // Without a limit all rows are read. A row that is locked may change its distance.
  if (root->limit_tuples <= 0 || root->query_pathkeys == NIL || root->parse->rowMarks != NIL) return;
  if (root->parse->commandType != CMD_SELECT || !bms_is_empty(rel->lateral_relids)) return;
  if (!OidIsValid(column.make_nearest) || has_security_barrier(root, rel)) return;
  auto *key = linitial_node(PathKey, root->query_pathkeys);
  Expr *set, *other;
  Expr *distance = sorted_distance(root, rel, column, key, &set, &other);
  if (distance == nullptr) return;

  auto *query = reinterpret_cast<Node *>(makeFuncExpr(column.make_nearest, column.query, list_make1(other),
                                                      InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
  Path *search = nullptr;
  int steps = 0;
  for (; steps < most_steps; ++steps) {
    Path *path = make_index_scan(root, rel, column, nullptr, reinterpret_cast<Node *>(set), query,
                                 step_bounds(steps), nullptr);
    if (path == nullptr) break;
    search = path;
  }
  if (search == nullptr) return;
  List *order = list_make1(key);
  Path *sorted_search = reinterpret_cast<Path *>(create_sort_path(root, rel, search, order, -1));
  Path *all = create_seqscan_path(root, rel, nullptr, 0);
  Path *sorted_all = reinterpret_cast<Path *>(create_sort_path(root, rel, all, order, root->limit_tuples));

  auto *nearest = static_cast<NearestPath *>(palloc0(sizeof(NearestPath)));
  nearest->distance = distance;
  nearest->steps = steps;
  nearest->most_rows = rows_asked_for(root, rel->relids, 1);
  CustomPath *custom = &nearest->custom;
  begin_path(custom, rel, order, &path_methods);
  custom->path.rows = rel->rows;
  // The first rows are expected to be found by the index.
  custom->path.startup_cost = sorted_search->total_cost;
  custom->path.total_cost = custom->path.startup_cost + sorted_all->total_cost;
  custom->custom_paths = list_make2(sorted_search, sorted_all);
  add_path(rel, &custom->path);
}

}  // namespace simjoin::pg
