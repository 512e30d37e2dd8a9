#include "pg/join/plan/row_identity.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
}

namespace simjoin::pg {

Node *in_join_tuple(PlannerInfo *root, Node *expr) {
  if (!IsA(expr, Var) || castNode(Var, expr)->varno != ROWID_VAR) return expr;
  auto *column = static_cast<Var *>(copyObjectImpl(expr));
  const auto *identity = list_nth_node(RowIdentityVarInfo, root->row_identity_vars, column->varattno - 1);
  column->varno = root->parse->resultRelation;
  column->varattno = identity->rowidvar->varattno;
  column->varnosyn = 0;
  column->varattnosyn = 0;
  // A whole row of the target is a column of this name too, but of another type. A cast tells them apart.
  return reinterpret_cast<Node *>(makeRelabelType(reinterpret_cast<Expr *>(column), column->vartype,
                                                  column->vartypmod, column->varcollid,
                                                  COERCE_IMPLICIT_CAST));
}

Path *with_row_identities(PlannerInfo *root, RelOptInfo *joinrel, List *paths) {
  PathTarget *target = copy_pathtarget(joinrel->reltarget);
  bool same = true;
  ListCell *cell;
  foreach (cell, target->exprs) {
    auto *expr = static_cast<Node *>(lfirst(cell));
    lfirst(cell) = in_join_tuple(root, expr);
    same = same && lfirst(cell) == expr;
  }
  if (same && list_length(paths) == 1) return static_cast<Path *>(linitial(paths));
  if (!same)
    foreach (cell, paths) static_cast<Path *>(lfirst(cell))->pathtarget = target;
  return reinterpret_cast<Path *>(create_append_path(root, joinrel, paths, NIL, NIL, nullptr, 0, false, -1));
}

}  // namespace simjoin::pg
