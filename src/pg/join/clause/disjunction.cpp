#include "pg/join/clause/disjunction.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
}

#include "pg/join/clause/implied.hpp"
#include "pg/join/clause/match.hpp"

namespace simjoin::pg {
namespace {

// Returns the conditions (RestrictInfo) of an arm, all of which have to hold.
List *conditions(Node *arm) {
  return IsA(arm, RestrictInfo) ? list_make1(arm) : list_copy(castNode(BoolExpr, arm)->args);
}

// Returns whether one of the conditions is a similarity clause, or implies one.
bool any_similarity(PlannerInfo *root, List *conditions) {
  ListCell *cell;
  foreach (cell, conditions)
    if (is_similarity_clause(lfirst_node(RestrictInfo, cell)) ||
        implied_clauses(root, lfirst_node(RestrictInfo, cell)) != NIL)
      return true;
  return false;
}

// Lets an equality within an arm keep rows apart. PostgreSQL looks for its operator only where a clause
// stands for itself.
void note_hash_operator(RestrictInfo *rinfo) {
  if (!rinfo->can_join || !IsA(rinfo->clause, OpExpr)) return;
  auto *op = castNode(OpExpr, rinfo->clause);
  if (op_hashjoinable(op->opno, exprType(static_cast<Node *>(linitial(op->args)))))
    rinfo->hashjoinoperator = op->opno;
}

// Returns the condition that the arm does not hold.
RestrictInfo *without(PlannerInfo *root, Node *arm, RestrictInfo *disjunction) {
  auto *test = makeNode(BooleanTest);
  test->arg = reinterpret_cast<Expr *>(arm);
  test->booltesttype = IS_NOT_TRUE;
  test->location = -1;
  RestrictInfo *rinfo = make_simple_restrictinfo(root, reinterpret_cast<Expr *>(test));
  rinfo->security_level = disjunction->security_level;
  rinfo->norm_selec = rinfo->outer_selec = 1.0;  // arms share few pairs
  return rinfo;
}

}  // namespace

List *joins_of_arms(PlannerInfo *root, RestrictInfo *disjunction, List *restrictlist) {
  if (disjunction->orclause == nullptr ||
      contain_volatile_functions(reinterpret_cast<Node *>(disjunction->clause)))
    return NIL;
  List *joins = NIL;
  List *common = list_delete_ptr(list_copy(restrictlist), disjunction);
  for (const bool similar : {false, true}) {
    ListCell *arm, *expression;
    forboth(arm, castNode(BoolExpr, disjunction->orclause)->args, expression,
            castNode(BoolExpr, disjunction->clause)->args) {
      List *own = conditions(static_cast<Node *>(lfirst(arm)));
      if (any_similarity(root, own) != similar) continue;
      ListCell *cell;
      foreach (cell, own) note_hash_operator(lfirst_node(RestrictInfo, cell));
      joins = lappend(joins, list_concat_copy(common, own));
      common =
          lappend(list_copy(common), without(root, static_cast<Node *>(lfirst(expression)), disjunction));
    }
  }
  return joins;
}

void for_each_condition(PlannerInfo *root, RestrictInfo *disjunction,
                        void (*body)(PlannerInfo *, RestrictInfo *)) {
  if (disjunction->orclause == nullptr) return;
  ListCell *arm, *cell;
  foreach (arm, castNode(BoolExpr, disjunction->orclause)->args)
    foreach (cell, conditions(static_cast<Node *>(lfirst(arm)))) body(root, lfirst_node(RestrictInfo, cell));
}

}  // namespace simjoin::pg
