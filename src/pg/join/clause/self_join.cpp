#include "pg/join/clause/self_join.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
}

namespace simjoin::pg {
namespace {

// Returns whether one argument of the clause has columns of one role alone, and the other of the other role.
bool has_role_each_side(const RestrictInfo *info) {
  int left, right;
  return bms_get_singleton_member(info->left_relids, &left) &&
         bms_get_singleton_member(info->right_relids, &right) && left != right;
}

}  // namespace

bool same_set_of_same_table(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner,
                            const SimilarityClause &clause) {
  if (!IS_SIMPLE_REL(outer) || !IS_SIMPLE_REL(inner)) return false;
  RangeTblEntry *left = planner_rt_fetch(outer->relid, root), *right = planner_rt_fetch(inner->relid, root);
  if (left->rtekind != RTE_RELATION || right->rtekind != RTE_RELATION) return false;
  if (left->relid != right->relid || left->inh != right->inh) return false;
  return equal(clause.left, as_outer(clause.right, inner->relid, outer->relid)) &&
         equal(clause.left_weights, as_outer(clause.right_weights, inner->relid, outer->relid));
}

bool same_conditions(RelOptInfo *outer, RelOptInfo *inner) {
  List *left = extract_actual_clauses(outer->baserestrictinfo, false);
  List *right = as_outer(extract_actual_clauses(inner->baserestrictinfo, false), inner->relid, outer->relid);
  return list_difference(left, right) == NIL && list_difference(right, left) == NIL;
}

compat::Comparison comparison_of_roles(List *restrictlist, Index outer_relid, Index inner_relid) {
  auto strongest = compat::Comparison::other;
  ListCell *cell;
  foreach (cell, restrictlist) {
    auto *info = lfirst_node(RestrictInfo, cell);
    auto *clause = reinterpret_cast<Node *>(info->clause);
    if (!IsA(clause, OpExpr) || list_length(castNode(OpExpr, clause)->args) != 2) continue;
    OpExpr *op = as_outer(castNode(OpExpr, clause), inner_relid, outer_relid);
    if (!equal(linitial(op->args), lsecond(op->args)) || contain_volatile_functions(clause)) continue;
    // a.v * b.v < b.v * b.v excludes a row with itself, and may hold for a pair both ways round.
    const auto comparison = compat::comparison_of(op->opno);
    strongest =
        Max(strongest, has_role_each_side(info) ? comparison : Min(comparison, compat::Comparison::unequal));
  }
  return strongest;
}

}  // namespace simjoin::pg
