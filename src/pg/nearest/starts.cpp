#include "pg/nearest/starts.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/syscache.h"
}

#include "pg/base/compat.hpp"

namespace simjoin::pg {
namespace {

// What is assumed of an outer query whose rows cannot be estimated.
constexpr double usual_rows = 1000;

double rows_of_table(Oid table) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
  if (!HeapTupleIsValid(tuple)) return usual_rows;
  const double rows = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->reltuples;
  ReleaseSysCache(tuple);
  return rows > 0 ? rows : usual_rows;
}

// Returns whether the condition can be estimated from the relation alone.
bool is_of_relation(PlannerInfo *outer, Node *condition, int relid) {
  int member;
  if (contain_subplans(condition)) return false;
  if (!bms_get_singleton_member(pull_varnos(outer, condition), &member) || member != relid) return false;
  for (int level = 1; level < static_cast<int>(outer->query_level); ++level)
    if (contain_vars_of_level(condition, level)) return false;
  return true;
}

// What the rows of a tree of joins meet: the trees below whose rows are not extended by NULLs, and
// conditions.
struct JoinTree {
  List *below;
  Node *conditions;
};

JoinTree look_into(Node *tree) {
  if (IsA(tree, FromExpr)) return {castNode(FromExpr, tree)->fromlist, castNode(FromExpr, tree)->quals};
  if (!IsA(tree, JoinExpr)) return {NIL, nullptr};
  const auto *join = reinterpret_cast<::JoinExpr *>(tree);
  if (join->jointype == JOIN_INNER) return {list_make2(join->larg, join->rarg), join->quals};
  const bool keeps_left =
      join->jointype == JOIN_LEFT || join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI;
  return {keeps_left ? list_make1(join->larg) : NIL, nullptr};
}

// Returns the conditions on the relation alone that all rows of a tree of joins meet. Some of the tree's
// conditions have become lists, others not yet.
List *conditions_in_tree(PlannerInfo *outer, Node *tree, int relid) {
  const JoinTree parts = look_into(tree);
  List *found = NIL;
  ListCell *cell;
  foreach (cell, parts.below)
    found = list_concat(found, conditions_in_tree(outer, static_cast<Node *>(lfirst(cell)), relid));
  const bool is_list = parts.conditions != nullptr && IsA(parts.conditions, List);
  foreach (cell, is_list ? reinterpret_cast<List *>(parts.conditions)
                         : make_ands_implicit(reinterpret_cast<Expr *>(parts.conditions))) {
    auto *condition = static_cast<Node *>(lfirst(cell));
    if (is_of_relation(outer, condition, relid)) found = lappend(found, condition);
  }
  return found;
}

double rows_that_meet(PlannerInfo *outer, const RelOptInfo *rel, List *conditions) {
  return clamp_row_est(rel->tuples * clauselist_selectivity(outer, conditions, 0, JOIN_INNER, nullptr));
}

// Returns the rows of a table of an outer query that is not planned yet: a subquery of its SELECT list is
// planned first. A copy of the outer query's state takes what the estimate needs.
double rows_before_planning(const PlannerInfo *outer, const RangeTblEntry *rte, int relid) {
  PlannerInfo copy = *outer;
  setup_simple_rel_arrays(&copy);
  RelOptInfo *rel = build_simple_rel(&copy, relid, nullptr);
  if (rel->tuples <= 0) rel->tuples = rows_of_table(rte->relid);  // of a table with partitions
  auto *tree = reinterpret_cast<Node *>(copy.parse->jointree);
  return rows_that_meet(&copy, rel, conditions_in_tree(&copy, tree, relid));
}

// Returns the rows of the relation that a parameter's value is of. PostgreSQL estimates relations in the
// order of the range table. It adds those of subqueries that it pulls up to the end, behind a LATERAL one.
double rows_behind(PlannerInfo *outer, Node *item) {
  if (!IsA(item, Var)) return usual_rows;
  const auto relid = static_cast<int>(castNode(Var, item)->varno);
  const bool is_planned = outer->simple_rel_array != nullptr && relid < outer->simple_rel_array_size;
  const RelOptInfo *rel = is_planned ? outer->simple_rel_array[relid] : nullptr;
  if (rel != nullptr && rel->rows > 0) return rel->rows;
  const RangeTblEntry *rte = rt_fetch(relid, outer->parse->rtable);
  if (rte->rtekind == RTE_VALUES) return list_length(rte->values_lists);
  if (rte->rtekind != RTE_RELATION) return usual_rows;
  if (rel != nullptr && rel->tuples > 0) return rows_that_meet(outer, rel, rel->baserestrictinfo);
  return rows_before_planning(outer, rte, relid);
}

struct Starts {
  PlannerInfo *root;
  double rows;
};

bool count_starts(Node *expr, void *context) {
  if (expr == nullptr) return false;
  auto *starts = static_cast<Starts *>(context);
  if (IsA(expr, Param) && castNode(Param, expr)->paramkind == PARAM_EXEC) {
    for (PlannerInfo *outer = starts->root->parent_root; outer != nullptr; outer = outer->parent_root) {
      ListCell *cell;
      foreach (cell, outer->plan_params) {
        auto *item = static_cast<PlannerParamItem *>(lfirst(cell));
        if (item->paramId == castNode(Param, expr)->paramid)
          starts->rows = Max(starts->rows, rows_behind(outer, item->item));
      }
    }
  }
  return compat::walk_children(expr, count_starts, context);
}

}  // namespace

double expected_starts(PlannerInfo *root, Node *expr) {
  Starts starts = {root, 1};
  count_starts(expr, &starts);
  return starts.rows;
}

}  // namespace simjoin::pg
