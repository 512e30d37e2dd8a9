#include "pg/join/estimate/set_origin.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
}

#include <cstring>

#include "pg/base/compat.hpp"
#include "pg/join/clause/match.hpp"

namespace simjoin::pg {
namespace {

// Returns the planned subquery behind a WITH query, NULL where it is recursive or not planned yet.
PlannerInfo *root_of_with(PlannerInfo *root, const RangeTblEntry *rte) {
  if (rte->self_reference) return nullptr;
  PlannerInfo *owner = root;
  for (Index level = rte->ctelevelsup; level > 0 && owner != nullptr; --level) owner = owner->parent_root;
  if (owner == nullptr) return nullptr;
  int place = 0;
  ListCell *cell;
  foreach (cell, owner->parse->cteList) {
    if (std::strcmp(lfirst_node(CommonTableExpr, cell)->ctename, rte->ctename) == 0) break;
    ++place;
  }
  if (place >= list_length(owner->cte_plan_ids)) return nullptr;
  const int plan = list_nth_int(owner->cte_plan_ids, place);
  return plan > 0 ? static_cast<PlannerInfo *>(list_nth(root->glob->subroots, plan - 1)) : nullptr;
}

// Returns the planned subquery that the relation is the output of, NULL where it is none.
PlannerInfo *root_of_subquery(PlannerInfo *root, Index relid, const RangeTblEntry *rte) {
  PlannerInfo *below = nullptr;
  if (rte->rtekind == RTE_CTE) below = root_of_with(root, rte);
  if (rte->rtekind == RTE_SUBQUERY && !rte->security_barrier)
    below = find_base_rel(root, static_cast<int>(relid))->subroot;
  if (below == nullptr || below->parse->commandType != CMD_SELECT)
    return nullptr;  // RETURNING is not planned
  return below->parse->setOperations != nullptr ? nullptr : below;
}

// The output of a subquery.
struct Output {
  List *targets;
  bool lacking;  // a column was not found, such as a whole row
};

// Puts the subquery's expressions in the place of its columns.
Node *with_targets(Node *node, void *context) {
  if (node == nullptr || !IsA(node, Var)) return compat::mutate_children(node, with_targets, context);
  auto *output = static_cast<Output *>(context);
  TargetEntry *entry = get_tle_by_resno(output->targets, castNode(Var, node)->varattno);
  output->lacking |= castNode(Var, node)->varlevelsup > 0 || entry == nullptr || entry->resjunk;
  return static_cast<Node *>(copyObjectImpl(output->lacking ? node : reinterpret_cast<Node *>(entry->expr)));
}

}  // namespace

bool find_origin(PlannerInfo *root, Expr *set, SetOrigin *origin) {
  for (;;) {
    int member;
    if (!bms_get_singleton_member(base_relids(root, set), &member)) return false;
    const auto relid = static_cast<Index>(member);
    const RangeTblEntry *rte = planner_rt_fetch(relid, root);
    *origin = {root, relid, set};
    if (rte->rtekind == RTE_RELATION) return true;
    PlannerInfo *below = root_of_subquery(root, relid, rte);
    if (below == nullptr) return false;
    Output output = {below->parse->targetList, false};
    set = reinterpret_cast<Expr *>(with_targets(reinterpret_cast<Node *>(set), &output));
    if (output.lacking) return false;
    root = below;
  }
}

}  // namespace simjoin::pg
