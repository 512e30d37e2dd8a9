#include "pg/join/plan/nearest_pairs.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/compat_paths.hpp"
#include "pg/base/limit.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/estimate/selectivity.hpp"
#include "pg/join/exec/nearest_pairs.hpp"
#include "pg/join/plan/pair_searches.hpp"
#include "pg/join/plan/path.hpp"

namespace simjoin::pg {
namespace {

constexpr double few_rows = 0.01;  // the share of a relation that an index scan reads for a row

const CustomScanMethods nearest_pairs_plan_methods = {.CustomName = nearest_pairs_name,
                                                      .CreateCustomScanState = create_nearest_pairs_state};

// A path of the node, whose custom_paths are those of its children.
struct NearestPairsPath {
  CustomPath custom;
  Expr *call;  // of the measure or the distance: the first sort key
  NearestPairsPlan plan;
};

// Returns whether the query may do with some of the joined rows, in order.
bool asks_for_first_pairs(PlannerInfo *root, RelOptInfo *joinrel) {
  const Query *query = root->parse;
  if (root->tuple_fraction <= 0 || root->query_pathkeys == NIL || query->commandType != CMD_SELECT)
    return false;
  // A row that is locked may change its similarity. What groups rows, or removes some, reads all of them.
  return query->rowMarks == NIL && query->groupClause == NIL && query->groupingSets == NIL &&
         query->distinctClause == NIL && !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
         root->query_pathkeys == root->sort_pathkeys && bms_equal(root->all_baserels, joinrel->relids);
}

// Returns the sort keys that the join's columns suffice for, from the first one on. All or one of them.
List *sort_keys_of_pairs(PlannerInfo *root, RelOptInfo *joinrel) {
  ListCell *cell;
  foreach (cell, root->query_pathkeys)
    if (!relation_can_be_sorted_early(root, joinrel, lfirst_node(PathKey, cell)->pk_eclass, false))
      return list_make1(linitial(root->query_pathkeys));
  return root->query_pathkeys;
}

// Returns the expression that the key sorts by, NULL where there are several, by an equality.
Expr *sorted_expression_of_join(const PathKey *key) {
  Expr *found = nullptr;
  ListCell *cell;
  foreach (cell, key->pk_eclass->ec_members) {
    const auto *member = lfirst_node(EquivalenceMember, cell);
    if (member->em_is_child) continue;
    if (found != nullptr) return nullptr;
    found = member->em_expr;
  }
  return found;
}

// Describes the call that the first sort key is, if that gives the most similar rows first. Else returns
// false.
bool describe_order_of_pairs(PlannerInfo *root, SimilarityClause *described) {
  const auto *key = linitial_node(PathKey, root->query_pathkeys);
  Expr *call = sorted_expression_of_join(key);
  auto *node = reinterpret_cast<Node *>(call);
  if (call == nullptr || key->pk_eclass->ec_has_volatile || !describe_call(node, described) ||
      described->call != call)
    return false;
  const Oid type = exprType(node);
  return described->distance == compat::ascends(key) && (type == FLOAT8OID || type == INT4OID) &&
         lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf == key->pk_opfamily;
}

// Returns whether the query bounds the similarity that it sorts by, and the bound where it is known.
bool bound_of_pairs(RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, PlannerInfo *root,
                    const SimilarityClause &order, List *restrictlist, double *bound) {
  ListCell *cell;
  foreach (cell, find_similarity_clauses(root, joinrel, outer, inner, JOIN_INNER, restrictlist)) {
    auto *clause = static_cast<const SimilarityClause *>(lfirst(cell));
    if (!equal(clause->call, order.call)) continue;
    *bound = constant_threshold(*clause);
    return true;
  }
  return false;
}

// Returns whether the join reads a small share of one side for each row of the other one, by an index.
bool compares_few_pairs(const Path *path) {
  if (path->pathtype != T_NestLoop) return false;
  const Path *inner = reinterpret_cast<const ::JoinPath *>(path)->innerjoinpath;
  return PATH_REQ_OUTER(inner) != nullptr && inner->rows <= few_rows * inner->parent->rows;
}

// Returns how many steps are made before all pairs of the query's own join come. If it has a threshold, or
// reads few pairs, that join is no comparison of all pairs, so few steps are made, above its threshold.
int steps_above(const SimilarityClause &order, bool bounded, double bound, const Path *all) {
  if (!bounded)
    return compares_few_pairs(all) ? Min(last_expected_step + 1, count_steps(order.measure))
                                   : count_steps(order.measure);
  int steps = 1;
  while (steps <= last_expected_step) {
    const double threshold = threshold_of_step(order.measure, order.distance, steps);
    if ((order.distance ? 1 - threshold : threshold) <= bound) break;
    ++steps;
  }
  return steps;
}

// Returns the path with the similarity among its columns.
Path *with_similarity(PlannerInfo *root, RelOptInfo *rel, Path *path, Expr *call) {
  PathTarget *target = copy_pathtarget(rel->reltarget);
  add_new_column_to_pathtarget(target, call);
  set_pathtarget_cost_width(root, target);
  return reinterpret_cast<Path *>(create_projection_path(root, rel, path, target));
}

// Returns the cheapest path of all joined rows, by PostgreSQL's joins and by those of the join's conditions.
// The planner may free paths of the relation, so these are of a relation of their own.
Path *all_pairs(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                JoinPathExtraData *extra) {
  auto *own = makeNode(RelOptInfo);
  *own = *joinrel;
  own->pathlist = own->partial_pathlist = own->ppilist = NIL;
  own->cheapest_startup_path = own->cheapest_total_path = nullptr;
  own->cheapest_parameterized_paths = NIL;
  add_paths_to_joinrel(root, own, outer, inner, JOIN_INNER, extra->sjinfo, extra->restrictlist);
  if (own->pathlist == NIL) return nullptr;
  set_cheapest(own);
  Path *path = own->cheapest_total_path;
  return path != nullptr && PATH_REQ_OUTER(path) == nullptr ? path : nullptr;
}

Plan *plan_nearest_pairs(PlannerInfo *, RelOptInfo *, CustomPath *path, List *tlist, List *,
                         List *custom_plans) {
  auto *pairs = reinterpret_cast<NearestPairsPath *>(path);
  auto *search = static_cast<Plan *>(linitial(custom_plans));
  ListCell *cell;
  foreach (cell, custom_plans)
    if (!tlist_same_exprs(search->targetlist, static_cast<Plan *>(lfirst(cell))->targetlist))
      elog(ERROR, "nearest pairs: the inputs do not have the same columns");
  const TargetEntry *column = tlist_member(pairs->call, search->targetlist);
  if (column == nullptr) elog(ERROR, "nearest pairs: similarity not found in the output of the inputs");
  pairs->plan.column = column->resno;
  CustomScan *scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = tlist;
  scan->scan.scanrelid = 0;
  scan->flags = path->flags;
  scan->custom_plans = custom_plans;
  scan->custom_scan_tlist = static_cast<List *>(copyObjectImpl(search->targetlist));
  foreach (cell, scan->custom_scan_tlist) lfirst_node(TargetEntry, cell)->resjunk = false;
  scan->custom_private = encode_nearest_pairs(pairs->plan);
  scan->methods = &nearest_pairs_plan_methods;
  return &scan->scan.plan;
}

const CustomPathMethods nearest_pairs_path_methods = {.CustomName = nearest_pairs_name,
                                                      .PlanCustomPath = plan_nearest_pairs,
                                                      .ReparameterizeCustomPathByChild = nullptr};

// Adds the path of searches and of all pairs.
void add_pairs_path(PlannerInfo *root, RelOptInfo *joinrel, Path *search, const ExpectedSearches &expected,
                    Path *all, List *pathkeys, NearestPairsPath *pairs) {
  Path *found = with_similarity(root, joinrel, search, pairs->call);
  // The engine knows the similarity.
  found->total_cost = search->total_cost + found->rows * cpu_tuple_cost;
  all = with_similarity(root, joinrel, all, pairs->call);
  auto *sorted_search =
      reinterpret_cast<Path *>(create_sort_path(root, joinrel, found, pathkeys, root->limit_tuples));
  auto *sorted_all =
      reinterpret_cast<Path *>(create_sort_path(root, joinrel, all, pathkeys, root->limit_tuples));
  CustomPath *custom = &pairs->custom;
  begin_path(custom, joinrel, pathkeys, &nearest_pairs_path_methods);
  custom->path.rows = joinrel->rows;
  // The first pairs are expected to be found by searches.
  custom->path.startup_cost = cost_of_searches(expected, search, expected.step == 0 ? found : sorted_search);
  custom->path.total_cost = custom->path.startup_cost + sorted_all->total_cost;
  custom->custom_paths = list_make2(sorted_search, sorted_all);
  if (pairs->plan.first_step == 0) custom->custom_paths = lappend(custom->custom_paths, found);
  add_path(joinrel, &custom->path);
}

// Returns whether the planner sorts by the first key that the query names. It leaves out one that a condition
// makes equal to a constant.
bool keeps_first_sort_key(PlannerInfo *root) {
  if (root->query_pathkeys == NIL) return false;
  Node *named = get_sortgroupclause_expr(linitial_node(SortGroupClause, root->parse->sortClause),
                                         root->processed_tlist);
  ListCell *cell;
  foreach (cell, linitial_node(PathKey, root->query_pathkeys)->pk_eclass->ec_members)
    if (equal(lfirst_node(EquivalenceMember, cell)->em_expr, named)) return true;
  return false;
}

}  // namespace

void register_nearest_pairs_methods() {
  RegisterCustomScanMethods(&nearest_pairs_plan_methods);
}

bool has_join_barrier(PlannerInfo *root, List *restrictlist) {
  ListCell *cell;
  foreach (cell, restrictlist)
    if (lfirst_node(RestrictInfo, cell)->security_level < root->qual_security_level) return true;
  return false;
}

Obstacle obstacle_in_order(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner) {
  if (!keeps_first_sort_key(root))
    return {"a condition gives all pairs the same similarity", "Leave the similarity out of ORDER BY."};
  const auto *key = linitial_node(PathKey, root->query_pathkeys);
  auto *call = reinterpret_cast<Node *>(sorted_expression_of_join(key));
  SimilarityClause described = {};
  if (call != nullptr && describe_call(call, &described) && described.distance != compat::ascends(key))
    return {"the least similar pairs come first", "Sort by a similarity DESC, or by a distance."};
  if (describe_order_of_pairs(root, &described) &&
      clause_of_step({root, joinrel, outer, inner, nullptr}, described, last_expected_step) != nullptr)
    return {};
  return {"the first sort key is not the similarity of two sets without weights",
          "Sort by a call such as jaccard_similarity(l, r) DESC, and round it in the SELECT list alone. For "
          "other "
          "distances of texts add a condition such as edit_distance(l, r) <= 2."};
}

void offer_nearest_pairs(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                         JoinPathExtraData *extra) {
  if (!Settings::enable_nearest() || !asks_for_first_pairs(root, joinrel)) return;
  // all_pairs() asks for the joins of a relation of its own.
  if (!list_member_ptr(root->join_rel_list, joinrel) || has_join_barrier(root, extra->restrictlist)) return;
  SimilarityClause described = {};
  if (!describe_order_of_pairs(root, &described)) return;
  const PairsToSearch search = {root, joinrel, outer, inner, extra};
  SimilarityClause *order = clause_of_step(search, described, last_expected_step);
  if (order == nullptr) return;
  auto *pairs = static_cast<NearestPairsPath *>(palloc0(sizeof(NearestPairsPath)));
  double bound = 0;
  const bool bounded = bound_of_pairs(joinrel, outer, inner, root, *order, extra->restrictlist, &bound);
  pairs->call = order->call;
  pairs->plan.measure = order->measure;
  pairs->plan.distance = order->distance;
  pairs->plan.nulls_first = linitial_node(PathKey, root->query_pathkeys)->pk_nulls_first && !bounded;
  Path *all = all_pairs(root, joinrel, outer, inner, extra);
  if (all == nullptr) return;
  pairs->plan.steps = steps_above(*order, bounded, bound, all);
  if (pairs->plan.steps == 1) return;

  List *pathkeys = sort_keys_of_pairs(root, joinrel);
  pairs->plan.first_step = order->measure == Measure::overlap || list_length(pathkeys) > 1 ? 1 : 0;
  pairs->plan.most_rows = rows_asked_for(root, joinrel->relids, list_length(pathkeys));
  // With a bound, searches stay above it, so that they cost little more than the query's own join.
  pairs->plan.most_pairs = bounded ? 0 : most_pairs_in_vain(search, all);
  const ExpectedSearches expected = expect_searches(search, described, pairs->plan.first_step,
                                                    Min(last_expected_step, pairs->plan.steps - 1));
  if (bounded && root->limit_tuples > expected.rows) return;  // the searches are expected to find too few
  JoinPath *join = make_join(root, joinrel, outer, inner, JOIN_INNER, extra->sjinfo, extra->restrictlist,
                             expected.rows, list_make1(expected.order));
  if (join != nullptr) add_pairs_path(root, joinrel, &join->custom.path, expected, all, pathkeys, pairs);
}

}  // namespace simjoin::pg
