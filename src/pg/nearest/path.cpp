#include "pg/nearest/path.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
}

#include "core/nearest/key_search.hpp"
#include "core/nearest/nearest_index.hpp"
#include "core/nearest/weighted_nearest.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/compat_paths.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/obstacle.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/estimate/set_statistics.hpp"
#include "pg/nearest/facts.hpp"
#include "pg/nearest/inputs.hpp"
#include "pg/nearest/starts.hpp"
#include "pg/nearest/texts.hpp"

namespace simjoin::pg {
namespace {

// Cost constants, in calls of a simple operator (15 ns).
constexpr double operators_per_indexed_token = 20;
constexpr double operators_per_indexed_key = 6;
constexpr double operators_per_search = 800;
constexpr double operators_per_probe_token = 10;
constexpr double operators_per_shared_token = 0.05;  // of the probe and a row
constexpr double operators_per_near_row = 20;        // that is handed up

// What is assumed of the rows that meet a bound.
constexpr double similar_share = 0.001;

// The keys of longer texts are not counted for an estimate.
constexpr int32 longest_sample = 200;

// A scan asks for at most this many pairs at first.
constexpr double most_first_pairs = 1000;

set_rel_pathlist_hook_type previous_nearest_rows_hook = nullptr;
create_upper_paths_hook_type previous_restore_hook = nullptr;

const CustomPathMethods nearest_rows_path_methods = {.CustomName = nearest_rows_name,
                                                     .PlanCustomPath = plan_nearest_rows,
                                                     .ReparameterizeCustomPathByChild = nullptr};

const CustomPathMethods similar_rows_path_methods = {.CustomName = similar_rows_name,
                                                     .PlanCustomPath = plan_nearest_rows,
                                                     .ReparameterizeCustomPathByChild = nullptr};

constexpr Obstacle volatile_condition = {
    "a condition may change from row to row",
    "Leave volatile functions, such as random(), out of the conditions of the subquery."};
constexpr Obstacle barrier = {barrier_comes_first,
                              "Without a condition on the outer row beside ORDER BY, the scan is possible."};
constexpr Obstacle locked_rows = {"the subquery locks rows", "Lock them in the outer query."};
constexpr Obstacle joined_rows = {"the set that is compared has columns of several tables",
                                  "Join the tables in WITH rows AS MATERIALIZED (SELECT …), or in a "
                                  "materialized view, and compare its rows."};
constexpr Obstacle large_index = {
    "the index of the sets is expected to take more memory than simjoin.memory_limit leaves",
    "Raise simjoin.memory_limit, or leave rows out by conditions on their table alone."};

// Returns the conditions (RestrictInfos) that depend on the outer query, which the node evaluates. Those
// without columns are evaluated above it.
List *conditions_of_node(RelOptInfo *rel) {
  List *conditions = NIL;
  ListCell *cell;
  foreach (cell, rel->baserestrictinfo) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (!rinfo->pseudoconstant && depends_on_outer(reinterpret_cast<Node *>(rinfo->clause)))
      conditions = lappend(conditions, rinfo);
  }
  return conditions;
}

bool has_volatile_condition(RelOptInfo *rel) {
  ListCell *cell;
  foreach (cell, rel->baserestrictinfo)
    if (contain_volatile_functions(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause)))
      return true;
  return false;
}

// Returns why the nodes do not read the relation; an obstacle without a reason where they do. `on_outer` are
// the conditions that the node would evaluate.
Obstacle obstacle_to_nodes(PlannerInfo *root, RelOptInfo *rel, List *on_outer) {
  if (root->parse->rowMarks != NIL) return locked_rows;  // a locked row may have changed
  if (has_volatile_condition(rel)) return volatile_condition;
  // Conditions of row-level security and of security barriers are to come before all others.
  if (on_outer != NIL && root->qual_security_level > 0) return barrier;
  return obstacle_to_reading(root, rel);
}

// Returns the leading sort keys of the query that are of the relation alone and the same for all outer rows.
List *sort_keys_of_rows(RelOptInfo *rel, List *keys) {
  ListCell *cell;
  List *found = NIL;
  foreach (cell, keys) {
    auto *key = lfirst_node(PathKey, cell);
    bool usable = false, every = true;
    compat::for_equal_expressions(key->pk_eclass, rel->relids, [&](Expr *expr) {
      usable = true;
      auto *node = reinterpret_cast<Node *>(expr);
      every = every && !depends_on_outer(node) && is_value_of_row(node);
    });
    if (!usable || !every || key->pk_eclass->ec_has_volatile) break;
    found = lappend(found, key);
  }
  return found;
}

// Returns the columns that the node needs of a row, those of the relation's output first.
PathTarget *columns_of_rows(PlannerInfo *root, RelOptInfo *rel, const SimilarityOrder &order, List *on_outer,
                            int *output) {
  PathTarget *target = create_empty_pathtarget();
  add_new_columns_to_pathtarget(target, rel->reltarget->exprs);
  *output = list_length(target->exprs);
  List *others = lappend(extract_actual_clauses(on_outer, false), order.set);
  if (order.weighted()) others = lappend(others, order.set_weights);
  add_new_columns_to_pathtarget(target,
                                pull_var_clause(reinterpret_cast<Node *>(others), PVC_INCLUDE_PLACEHOLDERS));
  return set_pathtarget_cost_width(root, target);
}

// Returns the path of all rows that meet all conditions, in order if there is one; NULL without a path.
Path *all_rows(PlannerInfo *root, RelOptInfo *rel, const NearestRowsPath *nearest) {
  Path *all = path_of_all_rows(root, rel);
  if (all == nullptr) return nullptr;
  PathTarget *output = create_empty_pathtarget();
  add_new_columns_to_pathtarget(output, rel->reltarget->exprs);
  if (nearest->ordered()) add_column_to_pathtarget(output, nearest->order.call, 0);
  set_pathtarget_cost_width(root, output);
  all = reinterpret_cast<Path *>(create_projection_path(root, rel, all, output));
  if (!nearest->ordered()) return all;
  return reinterpret_cast<Path *>(
      create_sort_path(root, rel, all, nearest->custom.path.pathkeys, root->limit_tuples));
}

// Fills the paths of the rows that are kept, and of all rows. Returns false where there are none.
bool choose_rows(PlannerInfo *root, RelOptInfo *rel, List *on_outer, NearestRowsPath *nearest) {
  PathTarget *columns = columns_of_rows(root, rel, nearest->order, on_outer, &nearest->output);
  nearest->columns = list_length(columns->exprs);
  Path *rows = path_of_kept_rows(root, rel, columns), *all = all_rows(root, rel, nearest);
  if (rows == nullptr || all == nullptr) return false;
  List *keys = nearest->custom.path.pathkeys;
  if (list_length(keys) > 1)
    rows = reinterpret_cast<Path *>(create_sort_path(root, rel, rows, list_copy_tail(keys, 1), -1));
  nearest->custom.custom_paths = list_make2(rows, all);
  return true;
}

// Returns how many rows a scan hands up to its conditions, by estimate. `of_key` rows have the key.
double rows_handed_up(const RelOptInfo *rel, const NearestRowsPath *nearest, double of_key) {
  if (!nearest->ordered()) return Min(rel->rows, of_key * similar_share);
  // All rows of the key come in order, or those that meet the bound.
  return nearest->bound == nullptr ? Max(of_key, rel->rows) : rel->rows;
}

size_t bytes_of_index(const NearestRowsPath *nearest, uint64_t rows, uint64_t tokens) {
  if (nearest->order.weighted())
    return WeightedNearest::bytes_of(rows, tokens, tokens * (sizeof(uint32_t) + sizeof(double)));
  return nearest->by_keys() ? KeySearch::bytes_of(rows, tokens)
                            : NearestIndex::bytes_of(rows, tokens, tokens * sizeof(uint32_t));
}

// Returns the number of tokens of a row. The planner has no statistics of keys of texts, but their number
// depends on the length of a text.
double tokens_of_row(PlannerInfo *root, RelOptInfo *rel, const NearestRowsPath *nearest, double usual) {
  auto *keys = reinterpret_cast<FuncExpr *>(nearest->order.set);
  if (!nearest->by_keys() || !IsA(keys, FuncExpr) || keys->args == NIL) return usual;
  auto *text = static_cast<Node *>(linitial(keys->args));
  if (!IsA(text, Var)) return usual;
  const int32 width =
      get_attavgwidth(planner_rt_fetch(rel->relid, root)->relid, castNode(Var, text)->varattno);
  if (width <= 0 || width > longest_sample) return usual;
  double count;
  return count_edit_keys(reinterpret_cast<Node *>(keys), width, &count) ? count : usual;
}

// The same costs of sets as costs_of_texts() gives.
IndexCosts costs_of_sets(PlannerInfo *root, RelOptInfo *rel, const NearestRowsPath *nearest, double rows,
                         double of_key) {
  const SimilarityOrder &order = nearest->order;
  SetShape shape = set_shape(root, reinterpret_cast<Node *>(order.set), order.token_type);
  shape.average_size = tokens_of_row(root, rel, nearest, shape.average_size);
  const double tokens = rows * shape.average_size;
  const double per_token = nearest->by_keys() ? operators_per_indexed_key : operators_per_indexed_token;
  const double shared_tokens = nearest->by_keys() ? similar_share : shape.shared_tokens;
  constexpr double representable = 1e17;
  const double bytes = tokens > representable
                           ? representable
                           : static_cast<double>(bytes_of_index(nearest, static_cast<uint64_t>(rows),
                                                                static_cast<uint64_t>(tokens)));
  return {tokens * per_token,
          operators_per_search + shape.average_size * operators_per_probe_token +
              of_key * shared_tokens * operators_per_shared_token,
          bytes};
}

// Estimates the costs for one row of the outer query, which has a share of the cost of the index. Returns
// false if the index is expected to take more memory than it may.
bool cost_nearest_rows(PlannerInfo *root, RelOptInfo *rel, List *on_outer, NearestRowsPath *nearest) {
  const SimilarityOrder &order = nearest->order;
  const auto *rows = static_cast<Path *>(linitial(nearest->custom.custom_paths));
  const double of_key =
      rows->rows * clauselist_selectivity(root, nearest->keys.conditions, 0, JOIN_INNER, nullptr);
  const IndexCosts costs = order.texts.used ? costs_of_texts(root, rel, nearest, rows->rows, of_key)
                                            : costs_of_sets(root, rel, nearest, rows->rows, of_key);
  if (costs.bytes > static_cast<double>(expected_memory_limit())) return false;
  const double starts = expected_starts(root, reinterpret_cast<Node *>(order.probe));
  QualCost conditions;
  cost_qual_eval(&conditions, on_outer, root);
  const double handed_up = rows_handed_up(rel, nearest, of_key);
  const double build = rows->total_cost + costs.index * cpu_operator_cost;
  const double search = costs.search;
  Path *path = &nearest->custom.path;
  path->rows = rel->rows;
  path->startup_cost = build / starts + search * cpu_operator_cost + conditions.startup;
  path->total_cost = path->startup_cost + handed_up * (cpu_tuple_cost + conditions.per_tuple +
                                                       operators_per_near_row * cpu_operator_cost);
  const double share = handed_up / Max(rel->rows, 1.0);
  nearest->first_pairs =
      static_cast<int>(Min(Max(root->limit_tuples, 1.0) * Max(share, 1.0), most_first_pairs));
  return true;
}

// Keeps the planner from replacing the paths of the query's only relation, if that has partitions, by paths
// that compute what is selected in each partition. It does so for a relation whose number of partitions is
// above 0, which is needed again when the plan is made.
void keep_paths(PlannerInfo *root, RelOptInfo *rel) {
  if (IS_PARTITIONED_REL(rel) && bms_equal(rel->relids, root->all_baserels)) rel->nparts = -rel->nparts;
}

void restore_partitions(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
                        void *extra) {
  if (previous_restore_hook != nullptr) previous_restore_hook(root, stage, input, output, extra);
  if (stage != UPPERREL_FINAL) return;
  for (int relid = 1; relid < root->simple_rel_array_size; ++relid) {
    RelOptInfo *rel = root->simple_rel_array[relid];
    if (rel != nullptr && rel->reloptkind == RELOPT_BASEREL && rel->nparts < 0 && rel->part_rels != nullptr)
      rel->nparts = -rel->nparts;
  }
}

// Adds a path of the node, if its index is expected to have the memory.
void add_rows_path(PlannerInfo *root, RelOptInfo *rel, List *on_outer, const SimilarityOrder &order,
                   Expr *bound, List *pathkeys) {
  auto *nearest = static_cast<NearestRowsPath *>(palloc0(sizeof(NearestRowsPath)));
  nearest->order = order;
  nearest->bound = bound;
  nearest->keys = find_key_expressions(root, rel, on_outer);
  CustomPath *custom = &nearest->custom;
  begin_path(custom, rel, pathkeys,
             nearest->ordered() ? &nearest_rows_path_methods : &similar_rows_path_methods);
  if (!choose_rows(root, rel, on_outer, nearest)) return;
  if (cost_nearest_rows(root, rel, on_outer, nearest)) {
    add_path(rel, &custom->path);
    keep_paths(root, rel);
  } else if (nearest->ordered()) {
    planning_obstacles.nearest_rows = large_index;
  }
}

// Returns whether the query asks for the relation's first rows by a similarity, which it describes.
bool asks_for_nearest(PlannerInfo *root, RelOptInfo *rel, SimilarityOrder *order) {
  if (root->query_pathkeys == NIL || root->parse->limitCount == nullptr) return false;
  auto *key = linitial_node(PathKey, root->query_pathkeys);
  if (sorts_joined_rows(key)) planning_obstacles.nearest_rows = joined_rows;
  return describe_similarity_order(root, rel, key, order) || describe_text_order(root, rel, key, order);
}

// Offers NearestRows for the order.
void offer_nearest_rows(PlannerInfo *root, RelOptInfo *rel, List *on_outer, const SimilarityOrder &order) {
  Expr *bound = nullptr;
  ListCell *cell;
  foreach (cell, on_outer) {
    auto *condition = lfirst_node(RestrictInfo, cell);
    if (bound == nullptr)
      bound =
          order.texts.used ? bound_of_text_order(order, condition) : bound_of_order(root, order, condition);
  }
  List *key = list_make1(linitial(root->query_pathkeys));
  List *others = sort_keys_of_rows(rel, list_copy_tail(root->query_pathkeys, 1));
  add_rows_path(root, rel, on_outer, order, bound, list_concat(key, others));
}

// Offers SimilarRows for each condition that bounds a similarity.
void offer_similar_rows(PlannerInfo *root, RelOptInfo *rel, List *on_outer) {
  ListCell *cell, *at;
  foreach (cell, on_outer)
    foreach (at, bounds_of_condition(root, rel, lfirst_node(RestrictInfo, cell))) {
      auto *bounded = static_cast<const SimilarityBound *>(lfirst(at));
      add_rows_path(root, rel, on_outer, bounded->sets, bounded->bound, NIL);
    }
}

void offer_rows(PlannerInfo *root, RelOptInfo *rel) {
  if (root->parent_root == nullptr || root->parse->commandType != CMD_SELECT) return;
  if (!bms_is_empty(rel->lateral_relids)) return;
  SimilarityOrder order = {};
  const bool ordered = asks_for_nearest(root, rel, &order);
  List *on_outer = conditions_of_node(rel);
  const Obstacle obstacle = obstacle_to_nodes(root, rel, on_outer);
  if (obstacle.why != nullptr) {
    if (ordered) planning_obstacles.nearest_rows = obstacle;
    return;
  }
  if (ordered) offer_nearest_rows(root, rel, on_outer, order);
  // An order of texts may have fewer rows by a bound.
  if (!ordered || order.texts.used) offer_similar_rows(root, rel, on_outer);
}

void nearest_rows_hook(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
  if (previous_nearest_rows_hook != nullptr) previous_nearest_rows_hook(root, rel, rti, rte);
  if (Settings::enable_nearest() && rel->reloptkind == RELOPT_BASEREL && !IS_DUMMY_REL(rel))
    offer_rows(root, rel);
}

}  // namespace

void install_nearest_rows_hook() {
  previous_nearest_rows_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = nearest_rows_hook;
  previous_restore_hook = create_upper_paths_hook;
  create_upper_paths_hook = restore_partitions;
  register_nearest_rows_methods();
}

}  // namespace simjoin::pg
