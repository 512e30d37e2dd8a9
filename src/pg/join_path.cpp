#include "pg/join_path.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(simjoin_measure_support);
}

#include "pg/compat.hpp"
#include "pg/join_estimate.hpp"
#include "pg/join_plan.hpp"
#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

// Cost constants, in the planner's units (a sequential page read is 1, an operator call 0.0025).
constexpr Cost start_cost = 20.0;             // creating the engine, ranking the first tokens
constexpr double operators_per_token = 1.0;   // reading, ranking and sorting a token
constexpr double operators_per_pair = 0.002;  // a pair of sets, spread over all pairs of the cross product

constexpr double operators_per_match = 20;  // handing a pair up and evaluating the other clauses on it

set_join_pathlist_hook_type previous_hook = nullptr;

const CustomPathMethods path_methods = {
    join_node_name, plan_join,
    nullptr,  // ReparameterizeCustomPathByChild: no expression of the path refers to another relation's
              // columns
};

Path *cheapest_unparameterized(RelOptInfo *rel) {
  Path *path = rel->cheapest_total_path;
  return path != nullptr && PATH_REQ_OUTER(path) == nullptr ? path : nullptr;
}

// Returns a path whose output has all of these expressions, computing what the given path does not have.
Path *with_columns(PlannerInfo *root, RelOptInfo *rel, Path *path, List *exprs) {
  PathTarget *target = nullptr;
  ListCell *cell;
  foreach (cell, exprs) {
    auto *expr = static_cast<Expr *>(lfirst(cell));
    if (list_member(target == nullptr ? path->pathtarget->exprs : target->exprs, expr)) continue;
    if (target == nullptr) target = copy_pathtarget(path->pathtarget);
    add_column_to_pathtarget(target, expr, 0);
  }
  if (target == nullptr) return path;
  set_pathtarget_cost_width(root, target);
  return reinterpret_cast<Path *>(create_projection_path(root, rel, path, target));
}

// Returns a copy of the inner relation's expressions as expressions of the outer relation.
template <class NodeType>
NodeType *as_outer(NodeType *node, Index inner_relid, Index outer_relid) {
  auto *copy = static_cast<NodeType *>(copyObjectImpl(node));
  ChangeVarNodes(reinterpret_cast<Node *>(copy), static_cast<int>(inner_relid), static_cast<int>(outer_relid),
                 0);
  return copy;
}

// Returns whether a scan of the relation gives the same rows every time within one query.
bool repeatable_scan(PlannerInfo *root, RelOptInfo *rel) {
  RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
  if (rte->rtekind != RTE_RELATION || rte->tablesample != nullptr) return false;
  if (rte->relkind == RELKIND_FOREIGN_TABLE) return false;
  return !contain_volatile_functions(reinterpret_cast<Node *>(rel->baserestrictinfo));
}

bool same_conditions(RelOptInfo *outer, RelOptInfo *inner) {
  List *left = extract_actual_clauses(outer->baserestrictinfo, false);
  List *right = as_outer(extract_actual_clauses(inner->baserestrictinfo, false), inner->relid, outer->relid);
  return list_difference(left, right) == NIL && list_difference(right, left) == NIL;
}

bool only_columns(RelOptInfo *rel) {
  ListCell *cell;
  foreach (cell, rel->reltarget->exprs)
    if (!IsA(lfirst(cell), Var)) return false;
  return true;
}

// Returns whether both relations are the same rows of the same table with the same set, so that reading and
// indexing them once is enough.
bool same_rows(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, const SimilarityClause &clause) {
  if (!IS_SIMPLE_REL(outer) || !IS_SIMPLE_REL(inner) || root->rowMarks != NIL) return false;
  if (!repeatable_scan(root, outer) || !repeatable_scan(root, inner)) return false;
  RangeTblEntry *left = planner_rt_fetch(outer->relid, root), *right = planner_rt_fetch(inner->relid, root);
  if (left->relid != right->relid || left->inh != right->inh) return false;
  return only_columns(outer) && only_columns(inner) && same_conditions(outer, inner) &&
         equal(clause.left, as_outer(clause.right, inner->relid, outer->relid));
}

// Returns whether the path's output can be widened to any column of its relation.
bool scan_can_give_any_column(Path *path) {
  switch (path->pathtype) {
    case T_SeqScan:
    case T_IndexScan:
    case T_BitmapHeapScan:
      return true;
    default:
      return false;
  }
}

// Returns whether a clause orders or tells apart the two roles of a row by one expression, as a.id < b.id
// does: it cannot hold for a row paired with itself.
bool excludes_same_row(List *restrictlist, Index outer_relid, Index inner_relid) {
  ListCell *cell;
  foreach (cell, restrictlist) {
    auto *clause = reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause);
    if (!IsA(clause, OpExpr) || list_length(castNode(OpExpr, clause)->args) != 2) continue;
    OpExpr *op = as_outer(castNode(OpExpr, clause), inner_relid, outer_relid);
    if (!equal(linitial(op->args), lsecond(op->args))) continue;
    if (!contain_volatile_functions(clause) && compat::is_irreflexive(op->opno)) return true;
  }
  return false;
}

// Of the equality clauses, those whose two sides are the same expression: with the rows read once, a row has
// one key for both of its roles.
List *same_key_clauses(List *clauses, RelOptInfo *outer, RelOptInfo *inner) {
  List *same = NIL;
  ListCell *cell;
  foreach (cell, clauses) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    const PartitionKey key = partition_key(rinfo, outer);
    if (equal(key.left, as_outer(key.right, inner->relid, outer->relid))) same = lappend(same, rinfo);
  }
  return same;
}

// Returns the set and the partition keys of one side, which its input has to compute.
List *input_exprs(const JoinPath *join, bool left) {
  List *exprs = list_make1(left ? join->clause.left : join->clause.right);
  ListCell *cell;
  foreach (cell, join->partition_clauses) {
    const PartitionKey key = partition_key(lfirst_node(RestrictInfo, cell), join->outer);
    exprs = lappend(exprs, left ? key.left : key.right);
  }
  return exprs;
}

// Returns the path that reads the rows once for both relations; NULL where no path can give the columns of
// both.
Path *path_for_both(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, const JoinPath *join) {
  List *columns = as_outer(inner->reltarget->exprs, inner->relid, outer->relid);
  columns = list_concat_unique(columns, input_exprs(join, true));
  Path *cheapest = cheapest_unparameterized(outer);
  if (cheapest == nullptr) return nullptr;
  if (scan_can_give_any_column(cheapest) || list_difference(columns, cheapest->pathtarget->exprs) == NIL)
    return with_columns(root, outer, cheapest, columns);
  Path *best = nullptr;
  ListCell *cell;
  foreach (cell, outer->pathlist) {
    auto *path = static_cast<Path *>(lfirst(cell));
    if (PATH_REQ_OUTER(path) != nullptr || !scan_can_give_any_column(path)) continue;
    if (best == nullptr || path->total_cost < best->total_cost) best = path;
  }
  return best == nullptr ? nullptr : with_columns(root, outer, best, columns);
}

// Returns how many rows come out of the join, given the pairs that satisfy the similarity clause.
double output_rows(PlannerInfo *root, const JoinPath *join, double pairs, RelOptInfo *outer,
                   RelOptInfo *inner, SpecialJoinInfo *sjinfo) {
  List *others = list_delete_ptr(list_copy(join->restrictlist), join->clause.rinfo);
  pairs *= clauselist_selectivity(root, others, 0, join->jointype, sjinfo);
  switch (join->jointype) {
    case JOIN_LEFT:
      return Max(pairs, outer->rows);
    case JOIN_FULL:
      return Max(pairs, outer->rows + inner->rows);
    case JOIN_SEMI:
      return Min(pairs, outer->rows);
    case JOIN_ANTI:
      return Max(outer->rows - pairs, 1.0);
    default:
      return pairs;
  }
}

// Estimates rows and cost. All input is read before the first pair comes out.
void cost_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinPath *join,
               SpecialJoinInfo *sjinfo) {
  const SimilarityClause &clause = join->clause;
  const SetStatistics left = set_statistics(root, outer, clause.left, clause.token_type);
  const SetStatistics right = set_statistics(root, inner, clause.right, clause.token_type);
  double tokens = left.rows * left.average_size, sets = outer->rows;
  double pairs = estimate_pairs(left, right, clause);
  if (join->read_once) {
    if (!join->skip_same_row) pairs += left.rows;  // each row with itself
  } else {
    tokens += right.rows * right.average_size;
    sets += inner->rows;
  }
  Cost startup = start_cost + tokens * operators_per_token * cpu_operator_cost + sets * cpu_tuple_cost;
  ListCell *cell;
  foreach (cell, join->custom.custom_paths) startup += static_cast<Path *>(lfirst(cell))->total_cost;

  // The planner has no estimate of its own for a comparison with a function (it assumes a third of the cross
  // product); what is planned above this join should start from ours.
  joinrel->rows = clamp_row_est(output_rows(root, join, pairs, outer, inner, sjinfo));
  Path *path = &join->custom.path;
  path->rows = joinrel->rows;
  path->startup_cost = startup;
  const double compared = outer->rows * inner->rows *
                          clauselist_selectivity(root, join->partition_clauses, 0, join->jointype, sjinfo);
  path->total_cost = startup + compared * operators_per_pair * cpu_operator_cost +
                     pairs * operators_per_match * cpu_operator_cost + path->rows * cpu_tuple_cost;
}

// Each pair of relations comes in both orders; a symmetric join is offered in one of them.
bool redundant_order(RelOptInfo *outer, RelOptInfo *inner, JoinType jointype) {
  return (jointype == JOIN_INNER || jointype == JOIN_FULL) &&
         bms_next_member(outer->relids, -1) > bms_next_member(inner->relids, -1);
}

bool supported(JoinType jointype) {
  switch (jointype) {
    case JOIN_INNER:
    case JOIN_LEFT:
    case JOIN_FULL:
    case JOIN_SEMI:
    case JOIN_ANTI:
      return true;
    default:  // RIGHT joins come as LEFT joins in the other order; the UNIQUE forms are other ways to a SEMI
              // join
      return false;
  }
}

// Returns whether there is a clause without columns that PostgreSQL would not evaluate for us.
bool unusable_pseudoconstant(List *restrictlist) {
  if (compat::custom_join_takes_pseudoconstants) return false;
  ListCell *cell;
  foreach (cell, restrictlist)
    if (lfirst_node(RestrictInfo, cell)->pseudoconstant) return true;
  return false;
}

// Fills the input paths; false where there are none that the join can use.
bool choose_inputs(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, JoinPath *join) {
  if (same_rows(root, outer, inner, join->clause)) {
    List *all_clauses = join->partition_clauses;
    join->partition_clauses = same_key_clauses(all_clauses, outer, inner);
    Path *both = path_for_both(root, outer, inner, join);
    if (both == nullptr) {
      join->partition_clauses = all_clauses;
    } else {
      join->read_once = true;
      join->skip_same_row = excludes_same_row(join->restrictlist, outer->relid, inner->relid);
      join->left_relid = outer->relid;
      join->right_relid = inner->relid;
      join->custom.custom_paths = list_make1(both);
      return true;
    }
  }
  Path *left = cheapest_unparameterized(outer), *right = cheapest_unparameterized(inner);
  if (left == nullptr || right == nullptr) return false;
  left = with_columns(root, outer, left, input_exprs(join, true));
  right = with_columns(root, inner, right, input_exprs(join, false));
  join->custom.custom_paths = list_make2(left, right);
  return true;
}

void offer_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                JoinType jointype, JoinPathExtraData *extra) {
  if (!supported(jointype) || redundant_order(outer, inner, jointype)) return;
  if (!bms_is_empty(joinrel->lateral_relids) || unusable_pseudoconstant(extra->restrictlist)) return;
  SimilarityClause clause;
  if (!find_similarity_clause(root, joinrel, outer, inner, jointype, extra->restrictlist, &clause)) return;

  auto *join = static_cast<JoinPath *>(palloc0(sizeof(JoinPath)));
  join->jointype = jointype;
  join->clause = clause;
  join->restrictlist = extra->restrictlist;
  join->partition_clauses = find_partition_clauses(joinrel, outer, inner, jointype, extra->restrictlist);
  join->outer = outer;
  if (!choose_inputs(root, outer, inner, join)) return;

  CustomPath *custom = &join->custom;
  custom->path.type = T_CustomPath;
  custom->path.pathtype = T_CustomScan;
  custom->path.parent = joinrel;
  custom->path.pathtarget = joinrel->reltarget;
  custom->methods = &path_methods;
  custom->flags = compat::custom_path_projects;
  compat::set_custom_restrictinfo(custom, extra->restrictlist);
  cost_join(root, joinrel, outer, inner, join, extra->sjinfo);
  add_path(joinrel, &custom->path);
}

void join_pathlist_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                        JoinType jointype, JoinPathExtraData *extra) {
  if (previous_hook != nullptr) previous_hook(root, joinrel, outer, inner, jointype, extra);
  if (enable_join) offer_join(root, joinrel, outer, inner, jointype, extra);
}

}  // namespace

void install_join_hook() {
  previous_hook = set_join_pathlist_hook;
  set_join_pathlist_hook = join_pathlist_hook;
  register_join_methods();
}

}  // namespace simjoin::pg

extern "C" {

// Support function of the measures. It has no answer of its own: that the planner calls it while it folds
// constants loads this library, and with it the join hook, before join paths are made.
Datum simjoin_measure_support(PG_FUNCTION_ARGS) {
  PG_RETURN_POINTER(nullptr);
}
}
