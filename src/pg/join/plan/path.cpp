#include "pg/join/plan/path.hpp"

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
PG_FUNCTION_INFO_V1(simjoin_edit_distance_support);
}

#include "pg/base/compat.hpp"
#include "pg/base/explain_notes.hpp"
#include "pg/base/scan_nodes.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/disjunction.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/join/clause/joins_taken.hpp"
#include "pg/join/clause/self_join.hpp"
#include "pg/join/clause/text_call.hpp"
#include "pg/join/clause/threshold_warning.hpp"
#include "pg/join/estimate/driving_clause.hpp"
#include "pg/join/estimate/selectivity.hpp"
#include "pg/join/estimate/sum_arms.hpp"
#include "pg/join/plan/arm_path.hpp"
#include "pg/join/plan/cost.hpp"
#include "pg/join/plan/input_paths.hpp"
#include "pg/join/plan/nearest_pairs.hpp"
#include "pg/join/plan/nested_loops.hpp"
#include "pg/join/plan/pairs_obstacle.hpp"
#include "pg/join/plan/plan.hpp"
#include "pg/join/plan/row_identity.hpp"
#include "pg/rows/parallel_rows.hpp"

namespace simjoin::pg {
namespace {

set_join_pathlist_hook_type previous_join_hook = nullptr;

// No expression of a path refers to another relation's columns, so none has to be reparameterized.
const CustomPathMethods path_methods = {
    .CustomName = join_node_name, .PlanCustomPath = plan_join, .ReparameterizeCustomPathByChild = nullptr};

// Returns whether a scan of the relation may give the same rows every time within one query. A foreign table
// may.
bool repeatable_scan(PlannerInfo *root, RelOptInfo *rel) {
  RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
  if (rte->rtekind != RTE_RELATION || rte->tablesample != nullptr) return false;
  return !contain_volatile_functions(reinterpret_cast<Node *>(rel->baserestrictinfo));
}

bool only_columns(RelOptInfo *rel) {
  ListCell *cell;
  foreach (cell, rel->reltarget->exprs)
    if (!IsA(lfirst(cell), Var)) return false;
  return true;
}

// Returns whether both relations are the same rows of the same table with the same set. They need to be read
// and indexed only once.
bool same_rows(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, const SimilarityClause &clause) {
  if (!IS_SIMPLE_REL(outer) || !IS_SIMPLE_REL(inner) || root->rowMarks != NIL) return false;
  if (!repeatable_scan(root, outer) || !repeatable_scan(root, inner)) return false;
  return only_columns(outer) && only_columns(inner) && same_conditions(outer, inner) &&
         same_set_of_same_table(root, outer, inner, clause);
}

// Returns the equality clauses whose two sides are the same expression. With the rows read once, a row has
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

// Fills the input paths. Returns false where the join can use none.
bool choose_inputs(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, JoinPath *join) {
  if (same_rows(root, outer, inner, join->clause)) {
    List *all_clauses = join->partition_clauses;
    join->partition_clauses = same_key_clauses(all_clauses, outer, inner);
    Path *both = input_for_both(root, outer, inner, join);
    if (both == nullptr) {
      join->partition_clauses = all_clauses;
    } else {
      join->read_once = true;
      const auto comparison = comparison_of_roles(join->restrictlist, outer->relid, inner->relid);
      join->skip_same_row = comparison != compat::Comparison::other;
      join->one_way = comparison == compat::Comparison::ordered && join->jointype == JOIN_INNER;
      join->left_relid = outer->relid;
      join->right_relid = inner->relid;
      join->custom.custom_paths = list_make1(both);
      return true;
    }
  }
  Path *left = input_of_side(root, outer, join, true), *right = input_of_side(root, inner, join, false);
  if (left == nullptr || right == nullptr) return false;
  join->custom.custom_paths = list_make2(left, right);
  return true;
}

// Returns whether a parallel worker may run the join. That is of use for partitions, each of which one worker
// joins. Elsewhere every worker would have to join everything.
bool parallel_safe(RelOptInfo *joinrel, List *inputs) {
  if (joinrel->reloptkind != RELOPT_OTHER_JOINREL || !joinrel->consider_parallel) return false;
  ListCell *cell;
  foreach (cell, inputs)
    if (!static_cast<Path *>(lfirst(cell))->parallel_safe) return false;
  return true;
}

}  // namespace

JoinPath *make_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                    JoinType jointype, SpecialJoinInfo *sjinfo, List *restrictlist, double rows,
                    List *clauses) {
  if (clauses == NIL) return nullptr;

  auto *join = static_cast<JoinPath *>(palloc0(sizeof(JoinPath)));
  join->jointype = jointype;
  join->restrictlist = restrictlist;
  join->partition_clauses = find_partition_clauses(joinrel, outer, inner, jointype, restrictlist);
  join->choice =
      choose_driving_clause(root, outer, inner, clauses, restrictlist, join->partition_clauses, sjinfo);
  join->clause = *static_cast<SimilarityClause *>(linitial(join->choice.clauses));
  join->outer = outer;
  if (!choose_inputs(root, outer, inner, join)) return nullptr;

  CustomPath *custom = &join->custom;
  begin_path(custom, joinrel, NIL, &path_methods);
  custom->path.parallel_safe = parallel_safe(joinrel, custom->custom_paths);
  custom->path.rows = rows;
  compat::set_custom_restrictinfo(custom, restrictlist);
  cost_join(root, outer, inner, join, sjinfo);
  return join;
}

bool repeatable_inputs(PlannerInfo *root, RelOptInfo *joinrel) {
  if (contain_volatile_functions(reinterpret_cast<Node *>(root->parse->jointree))) return false;
  for (int relid = -1; (relid = bms_next_member(joinrel->relids, relid)) >= 0;) {
    if (root->simple_rel_array[relid] == nullptr) continue;  // an outer join
    RangeTblEntry *rte = planner_rt_fetch(static_cast<Index>(relid), root);
    if (contain_volatile_functions(reinterpret_cast<Node *>(rte->securityQuals))) return false;
    switch (rte->rtekind) {
      case RTE_RELATION:
        if (rte->tablesample != nullptr) return false;
        break;
      case RTE_CTE:
        if (rte->self_reference) return false;  // all scans of a working table share one place in it
        break;
      case RTE_NAMEDTUPLESTORE:
        break;
      case RTE_FUNCTION:
        if (contain_volatile_functions(reinterpret_cast<Node *>(rte->functions))) return false;
        break;
      case RTE_VALUES:
        if (contain_volatile_functions(reinterpret_cast<Node *>(rte->values_lists))) return false;
        break;
      default:  // a subquery with LIMIT may give other rows the next time
        return false;
    }
  }
  return true;
}

namespace {

// Returns the path for an arm of a disjunction. `similarity` is set for a join by sets. PostgreSQL's own
// joins read a changed row once a recheck, so they are for queries that neither lock nor change rows.
Path *path_of_arm(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                  List *restrictlist, double rows, const JoinPathExtraData *extra, bool *similarity) {
  List *clauses = find_similarity_clauses(root, joinrel, outer, inner, JOIN_INNER, restrictlist);
  JoinPath *join =
      make_join(root, joinrel, outer, inner, JOIN_INNER, extra->sjinfo, restrictlist, rows, clauses);
  *similarity |= join != nullptr;
  if (join != nullptr) return &join->custom.path;
  Path *own = root->rowMarks != NIL ? nullptr : own_join(root, joinrel, outer, inner, restrictlist, extra);
  if (own != nullptr) own->rows = rows;
  return own;
}

// Offers one join after the other for the arms of a disjunction, which is the condition or implied by it, if
// one of them at least is a similarity join.
void offer_arms(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                RestrictInfo *condition, RestrictInfo *disjunction, JoinPathExtraData *extra) {
  List *paths = NIL;
  bool similarity = false;
  ListCell *cell;
  foreach (cell, joins_of_arms(root, disjunction, extra->restrictlist)) {
    auto *restrictlist = static_cast<List *>(lfirst(cell));
    List *own = list_delete_ptr(list_copy(restrictlist), condition);  // it has no other pairs than the arms
    const double share = clauselist_selectivity(root, own, 0, JOIN_INNER, extra->sjinfo);
    Path *path = path_of_arm(root, joinrel, outer, inner, restrictlist,
                             clamp_row_est(outer->rows * inner->rows * share), extra, &similarity);
    if (path == nullptr) return;
    paths = lappend(paths, path);
  }
  if (similarity) add_path(joinrel, with_row_identities(root, joinrel, paths));
}

void offer_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                JoinType jointype, JoinPathExtraData *extra) {
  if (!supported(jointype) || redundant_order(outer, inner, jointype)) return;
  if (!bms_is_empty(joinrel->lateral_relids) || unusable_pseudoconstant(extra->restrictlist)) return;
  List *clauses = find_similarity_clauses(root, joinrel, outer, inner, jointype, extra->restrictlist);
  JoinPath *join = make_join(root, joinrel, outer, inner, jointype, extra->sjinfo, extra->restrictlist,
                             joinrel->rows, clauses);
  if (join != nullptr) {
    charge_hash_joins(root, joinrel, outer, inner, join->clause, extra);
    add_path(joinrel, with_row_identities(root, joinrel, list_make1(&join->custom.path)));
  }
  if (jointype != JOIN_INNER || !repeatable_inputs(root, joinrel)) return;
  offer_nearest_pairs(root, joinrel, outer, inner, extra);
  ListCell *cell;
  foreach (cell, extra->restrictlist) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    offer_arms(root, joinrel, outer, inner, rinfo, rinfo, extra);
    RestrictInfo *implied = implied_disjunction(root, rinfo, outer, inner);
    if (implied != nullptr) offer_arms(root, joinrel, outer, inner, rinfo, implied, extra);
  }
}

void join_pathlist_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                        JoinType jointype, JoinPathExtraData *extra) {
  if (previous_join_hook != nullptr) previous_join_hook(root, joinrel, outer, inner, jointype, extra);
  if (joinrel->reloptkind == RELOPT_OTHER_JOINREL)
    estimate_partition_join(root, joinrel, outer, inner, extra->sjinfo, extra->restrictlist);
  // As with enable_hashjoin, a FULL join keeps its only plan.
  if (Settings::enable_join() || jointype == JOIN_FULL)
    offer_join(root, joinrel, outer, inner, jointype, extra);
  note_pairs_obstacle(root, joinrel, outer, inner, jointype, extra->restrictlist);
  if (jointype == JOIN_FULL) check_full_join(joinrel, inner, extra->sjinfo, extra->restrictlist);
}

}  // namespace

void install_join_hook() {
  previous_join_hook = set_join_pathlist_hook;
  set_join_pathlist_hook = join_pathlist_hook;
  install_selectivity_hook();
  register_join_methods();
  register_nearest_pairs_methods();
  register_block_methods();
  note_load_of_joins();
  install_explain_hook();
  install_nested_loop_notices();
}

}  // namespace simjoin::pg

extern "C" {

// The support function of the measures. It tells the cost of a call, which depends on the sets, and gives
// texts with a tokenizer as sets, and warns of thresholds out of range: conditions with a threshold that is
// NULL are gone once constants are folded. The planner calls it while it folds them, which loads this library
// and the join hook before join paths are made.
Datum simjoin_measure_support(PG_FUNCTION_ARGS) {
  auto *node = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
  if (IsA(node, SupportRequestSimplify)) {
    const auto &request = *reinterpret_cast<SupportRequestSimplify *>(node);
    if (request.root != nullptr) simjoin::pg::warn_of_thresholds(request.root);
    PG_RETURN_POINTER(simjoin::pg::with_sets(request));
  }
  if (!IsA(node, SupportRequestCost)) PG_RETURN_POINTER(nullptr);
  auto *request = reinterpret_cast<SupportRequestCost *>(node);
  if (!simjoin::pg::cost_call(request)) PG_RETURN_POINTER(nullptr);
  PG_RETURN_POINTER(request);
}

// The support function of edit distances and of Jaro's similarities. It loads the library and warns in the
// same way.
Datum simjoin_edit_distance_support(PG_FUNCTION_ARGS) {
  auto *node = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
  if (IsA(node, SupportRequestSimplify)) {
    const auto &request = *reinterpret_cast<SupportRequestSimplify *>(node);
    if (request.root != nullptr) simjoin::pg::warn_of_thresholds(request.root);
  }
  PG_RETURN_POINTER(nullptr);
}
}
