#include "pg/join/plan/arm_path.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
}

#include <utility>

#include "pg/join/plan/input_paths.hpp"

namespace simjoin::pg {
namespace {

// One side of the join.
struct ArmSide {
  RelOptInfo *rel;
  Path *path;
  bool filtered;
};

// Returns whether a scan of the relation can take further conditions.
bool can_filter(PlannerInfo *root, RelOptInfo *rel) {
  if (!IS_SIMPLE_REL(rel)) return false;
  const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
  return rte->rtekind == RTE_RELATION && !rte->inh && rte->tablesample == nullptr &&
         (rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
         rel->lateral_relids == nullptr;
}

// Takes the clauses of this side alone off the list and lets the scan evaluate them. The planner finds what a
// scan evaluates with its relation, so the scan gets a relation of its own.
ArmSide input_of_arm(PlannerInfo *root, RelOptInfo *rel, List **clauses) {
  ArmSide side = {rel, cheapest_unparameterized(rel), false};
  if (!can_filter(root, rel)) return side;
  List *own = NIL;
  ListCell *cell;
  foreach (cell, *clauses)
    if (bms_equal(lfirst_node(RestrictInfo, cell)->clause_relids, rel->relids))
      own = lappend(own, lfirst(cell));
  if (own == NIL) return side;
  *clauses = list_difference_ptr(*clauses, own);
  auto *filtered = makeNode(RelOptInfo);
  *filtered = *rel;
  filtered->baserestrictinfo = list_concat_copy(rel->baserestrictinfo, own);
  set_baserel_size_estimates(root, filtered);
  return {rel, create_seqscan_path(root, filtered, nullptr, 0), true};
}

// Returns the clauses that a hash join of the two relations can be by.
List *hash_clauses(List *clauses, RelOptInfo *outer, RelOptInfo *inner) {
  List *found = NIL;
  ListCell *cell;
  foreach (cell, clauses) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (!rinfo->can_join || !OidIsValid(rinfo->hashjoinoperator)) continue;
    auto sides = [&](RelOptInfo *left, RelOptInfo *right) {
      return bms_is_subset(rinfo->left_relids, left->relids) &&
             bms_is_subset(rinfo->right_relids, right->relids);
    };
    if (sides(outer, inner) || sides(inner, outer)) found = lappend(found, rinfo);
  }
  return found;
}

}  // namespace

Path *own_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
               List *restrictlist, const JoinPathExtraData *extra) {
  List *clauses = list_copy(restrictlist);
  ArmSide left = input_of_arm(root, outer, &clauses), right = input_of_arm(root, inner, &clauses);
  if (left.path == nullptr || right.path == nullptr) return nullptr;
  if (left.path->rows < right.path->rows) std::swap(left, right);
  JoinPathExtraData own = *extra;
  own.restrictlist = clauses;
  own.inner_unique = false;
  JoinCostWorkspace costs;
  List *hashed = hash_clauses(clauses, outer, inner);
  if (hashed != NIL) {
    initial_cost_hashjoin(root, &costs, JOIN_INNER, hashed, left.path, right.path, &own, false);
    return reinterpret_cast<Path *>(create_hashjoin_path(root, joinrel, JOIN_INNER, &costs, &own, left.path,
                                                         right.path, false, clauses, nullptr, hashed));
  }
  if (!left.filtered && !right.filtered) return nullptr;
  // The filtered side is read once, and the other one again for each of its rows.
  if (!left.filtered || (right.filtered && right.path->rows < left.path->rows)) std::swap(left, right);
  auto *kept = reinterpret_cast<Path *>(create_material_path(right.rel, right.path));
  initial_cost_nestloop(root, &costs, JOIN_INNER, left.path, kept, &own);
  return reinterpret_cast<Path *>(
      create_nestloop_path(root, joinrel, JOIN_INNER, &costs, &own, left.path, kept, clauses, NIL, nullptr));
}

}  // namespace simjoin::pg
