#include "pg/nearest/path.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
}

#include "core/nearest/nearest_index.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/compat_paths.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/estimate/set_statistics.hpp"
#include "pg/nearest/facts.hpp"

namespace simjoin::pg {
namespace {

// Cost constants, in calls of a simple operator (15 ns).
constexpr double operators_per_indexed_token = 20;
constexpr double operators_per_search = 800;
constexpr double operators_per_probe_token = 10;
constexpr double operators_per_shared_token = 0.05;  // of the probe and a row
constexpr double operators_per_near_row = 20;        // that is handed up

// A scan asks for at most this many pairs at first.
constexpr double most_first_pairs = 1000;

set_rel_pathlist_hook_type previous_nearest_rows_hook = nullptr;

const CustomPathMethods nearest_rows_path_methods = {.CustomName = nearest_rows_name,
                                                     .PlanCustomPath = plan_nearest_rows,
                                                     .ReparameterizeCustomPathByChild = nullptr};

// The conditions on the relation.
struct SplitConditions {
  List *of_rows;   // RestrictInfos that do not depend on the outer query
  List *on_outer;  // the others
};

// Returns whether conditions may be evaluated once a row, or in the node.
bool split_conditions(PlannerInfo *root, RelOptInfo *rel, SplitConditions *split) {
  ListCell *cell;
  foreach (cell, rel->baserestrictinfo) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    auto *clause = reinterpret_cast<Node *>(rinfo->clause);
    if (contain_volatile_functions(clause)) return false;
    if (rinfo->pseudoconstant) continue;  // above the scan
    List **list = depends_on_outer(clause) ? &split->on_outer : &split->of_rows;
    *list = lappend(*list, rinfo);
  }
  // Conditions of row-level security and of security barriers are to come before all others.
  return split->on_outer == NIL || root->qual_security_level == 0;
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

// Returns a scan of the table for the rows that meet these of its conditions only.
Path *scan_with(PlannerInfo *root, RelOptInfo *rel, List *conditions) {
  auto *part = static_cast<RelOptInfo *>(palloc(sizeof(RelOptInfo)));
  *part = *rel;
  part->baserestrictinfo = conditions;
  cost_qual_eval(&part->baserestrictcost, conditions, root);
  part->rows = clamp_row_est(rel->tuples * clauselist_selectivity(root, conditions, 0, JOIN_INNER, nullptr));
  return create_seqscan_path(root, part, nullptr, 0);
}

// Returns the columns that the node needs of a row.
PathTarget *columns_of_rows(PlannerInfo *root, RelOptInfo *rel, const SimilarityOrder &order,
                            List *on_outer) {
  PathTarget *target = create_empty_pathtarget();
  add_new_columns_to_pathtarget(target, rel->reltarget->exprs);
  List *others = lappend(extract_actual_clauses(on_outer, false), order.set);
  add_new_columns_to_pathtarget(target,
                                pull_var_clause(reinterpret_cast<Node *>(others), PVC_INCLUDE_PLACEHOLDERS));
  return set_pathtarget_cost_width(root, target);
}

// Fills the paths of the rows that are kept, and of all rows in order.
void choose_rows(PlannerInfo *root, RelOptInfo *rel, const SplitConditions &split, NearestRowsPath *nearest) {
  Path *all = create_seqscan_path(root, rel, nullptr, 0);
  Path *rows = scan_with(root, rel, split.of_rows);
  PathTarget *columns = columns_of_rows(root, rel, nearest->order, split.on_outer);
  nearest->columns = list_length(columns->exprs);
  rows = reinterpret_cast<Path *>(create_projection_path(root, rel, rows, columns));
  List *keys = nearest->custom.path.pathkeys;
  if (list_length(keys) > 1)
    rows = reinterpret_cast<Path *>(create_sort_path(root, rel, rows, list_copy_tail(keys, 1), -1));

  PathTarget *with_similarity = copy_pathtarget(columns);
  add_column_to_pathtarget(with_similarity, nearest->order.call, 0);
  set_pathtarget_cost_width(root, with_similarity);
  all = reinterpret_cast<Path *>(create_projection_path(root, rel, all, with_similarity));
  all = reinterpret_cast<Path *>(create_sort_path(root, rel, all, keys, root->limit_tuples));
  nearest->custom.custom_paths = list_make2(rows, all);
}

// Estimates the costs for one row of the outer query, which has a share of the cost of the index. Returns
// false if the index is expected to take more memory than it may.
bool cost_nearest_rows(PlannerInfo *root, RelOptInfo *rel, List *on_outer, NearestRowsPath *nearest) {
  const SimilarityOrder &order = nearest->order;
  const auto *rows = static_cast<Path *>(linitial(nearest->custom.custom_paths));
  const SetShape shape = set_shape(root, reinterpret_cast<Node *>(order.set), order.token_type);
  const double tokens = rows->rows * shape.average_size;
  constexpr double representable = 1e17;
  const size_t recorded = static_cast<size_t>(Min(tokens, representable)) * sizeof(uint32_t);
  if (tokens > representable ||
      NearestIndex::bytes_of(static_cast<uint64_t>(rows->rows), static_cast<uint64_t>(tokens), recorded) >
          expected_memory_limit())
    return false;
  const double starts = expected_starts(root, reinterpret_cast<Node *>(order.probe));
  QualCost conditions;
  cost_qual_eval(&conditions, on_outer, root);
  // All rows of the key come in order, or those that meet the bound.
  const double of_key =
      rows->rows * clauselist_selectivity(root, nearest->keys.conditions, 0, JOIN_INNER, nullptr);
  const double handed_up = nearest->bound == nullptr ? Max(of_key, rel->rows) : rel->rows;
  const double build = rows->total_cost + tokens * operators_per_indexed_token * cpu_operator_cost;
  const double search = operators_per_search + shape.average_size * operators_per_probe_token +
                        of_key * shape.shared_tokens * operators_per_shared_token;
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

// Returns whether all rows come from one table. Of a partitioned table the planner takes scans of its own
// making only.
bool is_plain_table(const RangeTblEntry *rte) {
  return rte->rtekind == RTE_RELATION && !rte->inh && rte->tablesample == nullptr &&
         (rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW);
}

void offer_nearest_rows(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte) {
  const Query *query = root->parse;
  if (root->query_pathkeys == NIL || query->limitCount == nullptr || root->parent_root == nullptr) return;
  if (query->commandType != CMD_SELECT || query->rowMarks != NIL) return;  // a locked row may have changed
  if (!is_plain_table(rte)) return;
  if (!bms_is_empty(rel->lateral_relids)) return;
  SimilarityOrder order;
  auto *key = linitial_node(PathKey, root->query_pathkeys);
  SplitConditions split = {};
  if (!describe_similarity_order(root, rel, key, &order) || !split_conditions(root, rel, &split)) return;

  auto *nearest = static_cast<NearestRowsPath *>(palloc0(sizeof(NearestRowsPath)));
  nearest->order = order;
  nearest->keys = find_key_expressions(root, rel, split.on_outer);
  ListCell *cell;
  foreach (cell, split.on_outer)
    if (nearest->bound == nullptr)
      nearest->bound =
          bound_of_order(order, reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause));
  CustomPath *custom = &nearest->custom;
  custom->path.type = T_CustomPath;
  custom->path.pathtype = T_CustomScan;
  custom->path.parent = rel;
  custom->path.pathtarget = rel->reltarget;
  custom->path.pathkeys =
      list_concat(list_make1(key), sort_keys_of_rows(rel, list_copy_tail(root->query_pathkeys, 1)));
  custom->flags = compat::custom_path_projects;
  custom->methods = &nearest_rows_path_methods;
  choose_rows(root, rel, split, nearest);
  if (cost_nearest_rows(root, rel, split.on_outer, nearest)) add_path(rel, &custom->path);
}

void nearest_rows_hook(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
  if (previous_nearest_rows_hook != nullptr) previous_nearest_rows_hook(root, rel, rti, rte);
  if (Settings::enable_nearest() && rel->reloptkind == RELOPT_BASEREL && !IS_DUMMY_REL(rel))
    offer_nearest_rows(root, rel, rte);
}

}  // namespace

void install_nearest_rows_hook() {
  previous_nearest_rows_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = nearest_rows_hook;
  register_nearest_rows_methods();
}

}  // namespace simjoin::pg
