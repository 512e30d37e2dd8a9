#include "pg/join/plan/nested_loops.hpp"

#include "pg/base/pg.hpp"

extern "C" {
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"
}

#include <string_view>
#include <utility>

#include "pg/base/compat.hpp"
#include "pg/base/explain_notes.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/facts.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/clause/sums.hpp"
#include "pg/join/clause/trigrams.hpp"
#include "pg/join/plan/loop_obstacles.hpp"

namespace simjoin::pg {

bool reports_nested_loops() {
  return explaining() || (Settings::enable_join() && Settings::notice_pairs() > 0);
}

bool computes_similarity(Node *expr) {
  SimilarityClause call = {};
  TrigramCall trigrams;
  return describe_call(expr, &call) || describe_trigram_call(expr, &trigrams) || is_edit_call(expr) ||
         describe_jaro_call(expr, &call) != JaroKind::none;
}

namespace {

// A subplan runs for each row of another one, which is not known here.
constexpr double least_loops_of_subplan = 2;

planner_hook_type previous_planner_hook = nullptr;

// What is found in a plan: the similarity that is computed for the most pairs.
struct SlowLoop {
  double pairs;
  Obstacle obstacle;
  bool found;
};

bool has_column(Node *expr, void *) {
  if (expr == nullptr) return false;
  return IsA(expr, Var) || compat::walk_children(expr, has_column, nullptr);
}

bool has_column_of(Node *expr, void *input) {
  if (expr == nullptr) return false;
  if (IsA(expr, Var)) return static_cast<int>(castNode(Var, expr)->varno) == *static_cast<const int *>(input);
  return compat::walk_children(expr, has_column_of, input);
}

bool has_outer_column(Node *expr) {
  int input = OUTER_VAR;
  return has_column_of(expr, &input);
}

bool has_inner_column(Node *expr) {
  int input = INNER_VAR;
  return has_column_of(expr, &input);
}

bool has_outer_row(Node *expr, void *) {
  if (expr == nullptr) return false;
  if (IsA(expr, Param)) return castNode(Param, expr)->paramkind == PARAM_EXEC;
  return compat::walk_children(expr, has_outer_row, nullptr);
}

bool computes_edits(Node *expr, void *) {
  if (expr == nullptr) return false;
  return is_edit_call(expr) || compat::walk_children(expr, computes_edits, nullptr);
}

// Returns whether a similarity of the rows of both inputs is computed in the expression.
bool compares_inputs(Node *expr, void *) {
  if (expr == nullptr) return false;
  if (OidIsValid(called_function(expr)) && has_outer_column(expr) && has_inner_column(expr) &&
      computes_similarity(expr))
    return true;
  return compat::walk_children(expr, compares_inputs, nullptr);
}

// Returns whether a similarity of a row with one from outside of the plan is computed in the expression.
bool compares_outer_row(Node *expr, void *) {
  if (expr == nullptr) return false;
  SimilarityClause call = {};
  if (OidIsValid(called_function(expr)) && has_column(expr, nullptr) && has_outer_row(expr, nullptr) &&
      (computes_similarity(expr) || describe_weighted_call(expr, &call)))
    return true;
  return compat::walk_children(expr, compares_outer_row, nullptr);
}

// Returns whether the similarity of a row's set and a query from outside of the plan is computed in the
// expression.
bool compares_outer_query(Node *expr, void *) {
  if (expr == nullptr) return false;
  if (is_query_similarity(expr) && has_column(expr, nullptr) && has_outer_row(expr, nullptr)) return true;
  return compat::walk_children(expr, compares_outer_query, nullptr);
}

// Returns whether the sets of a call are one of each input.
bool is_between_inputs(const SimilarityClause &call) {
  auto one_side = [](Expr *set) {
    auto *node = reinterpret_cast<Node *>(set);
    return has_outer_column(node) != has_inner_column(node);
  };
  return one_side(call.left) && one_side(call.right);
}

bool any_term_between_inputs(const Sum &sum) {
  ListCell *cell;
  foreach (cell, sum.terms) {
    auto *term = static_cast<const Term *>(lfirst(cell));
    if (term->rises() && is_between_inputs(term->call)) return true;
  }
  return false;
}

// Returns whether the sum is of one similarity of texts, and rules out too few pairs.
bool is_low_bound(const Sum &sum, double gain) {
  if (list_length(sum.terms) != 1) return false;
  auto *term = static_cast<const Term *>(linitial(sum.terms));
  const double least = gain / term->weight();
  return term->edits ? least < least_edit_similarity
                     : term->jaro != JaroKind::none && cosine_of_jaro(term->jaro, least) == 0;
}

// Returns whether the condition is a similarity clause between one input and the other, or one on edit
// distances that implies such a clause.
bool is_clause_of_inputs(Node *condition) {
  ListCell *cell;
  foreach (cell, keys_of_edit_condition(condition))
    if (is_between_inputs(*static_cast<const SimilarityClause *>(lfirst(cell)))) return true;
  RestrictInfo *clause = makeNode(RestrictInfo);
  clause->clause = reinterpret_cast<Expr *>(condition);
  SimilarityClause match;
  return describe_search_clause(clause, &match) && is_between_inputs(match) &&
         !has_column(reinterpret_cast<Node *>(match.threshold), nullptr);
}

// Returns why a condition with a similarity of both inputs does not drive the operator.
Obstacle obstacle_of(Node *condition) {
  if (is_orclause(condition)) return one_arm;
  if (is_clause_of_inputs(condition)) return cheaper;
  Node *greater, *lesser;
  const Obstacle &form = computes_edits(condition, nullptr) ? other_edits : other_form;
  if (!describe_order(condition, &greater, &lesser)) return form;
  const bool above = compares_inputs(greater, nullptr), below = compares_inputs(lesser, nullptr);
  Sum sum;
  if (describe_difference(greater, lesser, &sum)) {
    const bool bounded = needed_gain(sum) > 0;
    if (bounded && any_term_between_inputs(sum))
      return is_low_bound(sum, needed_gain(sum)) ? low_bound : cheaper;
    if (!bounded && !(above && below)) return upper_bound;
  }
  if ((above && below) || has_column(above ? lesser : greater, nullptr))
    return computes_edits(condition, nullptr) ? changing_edits : changing_bound;
  // A distance is small if the pair is similar.
  SimilarityClause call = {};
  TrigramCall trigrams;
  const bool distance = is_edit_call(without_cast(above ? greater : lesser)) ||
                        (!above && computes_edits(lesser, nullptr)) ||
                        (describe_call(above ? greater : lesser, &call) && call.distance) ||
                        (describe_trigram_call(above ? greater : lesser, &trigrams) &&
                         trigrams.result == TrigramResult::distance);
  return above == distance ? upper_bound : form;
}

void note(SlowLoop *slowest, double pairs, const Obstacle &obstacle) {
  if (slowest->found && slowest->pairs >= pairs) return;
  *slowest = {pairs, obstacle, true};
}

// Looks at a nested loop that runs `loops` times.
void look_at_loop(NestLoop *loop, double loops, SlowLoop *slowest) {
  const double pairs = loops * outerPlan(loop)->plan_rows * innerPlan(loop)->plan_rows;
  bool in_condition = false;
  ListCell *cell;
  for (List *conditions : {loop->join.joinqual, loop->join.plan.qual}) {
    foreach (cell, conditions) {
      auto *condition = static_cast<Node *>(lfirst(cell));
      if (!compares_inputs(condition, nullptr)) continue;
      in_condition = true;
      note(slowest, pairs, obstacle_of(condition));
    }
  }
  if (!in_condition && compares_inputs(reinterpret_cast<Node *>(loop->join.plan.targetlist), nullptr))
    note(slowest, pairs, no_bound);
}

// Returns the condition of an index scan below a nested loop as one of the join: its parameters are of the
// other input.
Node *as_condition_of_join(Node *expr, void *unused) {
  if (expr == nullptr) return nullptr;
  if (IsA(expr, Param) && castNode(Param, expr)->paramkind == PARAM_EXEC) {
    auto *param = castNode(Param, expr);
    return reinterpret_cast<Node *>(
        makeVar(OUTER_VAR, 1, param->paramtype, param->paramtypmod, param->paramcollid, 0));
  }
  if (IsA(expr, Var)) {
    auto *column = static_cast<Var *>(copyObjectImpl(expr));
    column->varno = INNER_VAR;
    return reinterpret_cast<Node *>(column);
  }
  return compat::mutate_children(expr, as_condition_of_join, unused);
}

// Returns whether a condition of an index scan is an equality, which leaves few rows.
bool seeks_equal(List *conditions) {
  ListCell *cell;
  foreach (cell, conditions) {
    auto *condition = static_cast<Node *>(lfirst(cell));
    if (!IsA(condition, OpExpr)) return true;
    auto *comparison = castNode(OpExpr, condition);
    if (op_mergejoinable(comparison->opno, exprType(static_cast<Node *>(linitial(comparison->args)))))
      return true;
  }
  return false;
}

// Looks at an index scan that runs `loops` times, with what conditions its index serves.
void look_at_index_scan(Plan *scan, List *served, double loops, SlowLoop *slowest) {
  if (loops <= 1 || seeks_equal(served)) return;
  ListCell *cell;
  foreach (cell, scan->qual) {
    Node *condition = as_condition_of_join(static_cast<Node *>(lfirst(cell)), nullptr);
    if (compares_inputs(condition, nullptr)) note(slowest, loops * scan->plan_rows, obstacle_of(condition));
  }
}

bool is_scan_of_nearest(const CustomScan *scan) {
  const std::string_view name = scan->methods->CustomName;
  return name == nearest_rows_name || name == similar_rows_name || name == nearest_sets_name ||
         name == nearest_pairs_name;
}

// Returns whether the plan looks at rows that no index has chosen for it.
bool reads_all_rows(const Plan *plan) {
  switch (nodeTag(plan)) {
    case T_SeqScan:
    case T_SampleScan:
    case T_ForeignScan:
    case T_SubqueryScan:
    case T_FunctionScan:
    case T_TableFuncScan:
    case T_ValuesScan:
    case T_CteScan:
    case T_Result:
    case T_HashJoin:
    case T_MergeJoin:
    case T_Agg:
      return true;
    default:
      return false;
  }
}

// Looks at the expressions of such a plan.
void look_at_rows(Plan *plan, double loops, SlowLoop *slowest) {
  const Obstacle &of_rows = planning_obstacles.nearest_rows;
  const double pairs = loops * (outerPlan(plan) == nullptr ? plan : outerPlan(plan))->plan_rows;
  for (List *part : {plan->qual, plan->targetlist}) {
    auto *expr = reinterpret_cast<Node *>(part);
    if (compares_outer_row(expr, nullptr))
      note(slowest, pairs, of_rows.why != nullptr ? of_rows : per_row);
    else if (compares_outer_query(expr, nullptr))
      note(slowest, pairs, of_query);
  }
}

void look_at_plan(Plan *plan, double loops, SlowLoop *slowest);

void look_at_plans(List *plans, double loops, SlowLoop *slowest) {
  ListCell *cell;
  foreach (cell, plans) look_at_plan(static_cast<Plan *>(lfirst(cell)), loops, slowest);
}

// Looks at the plan, which runs `loops` times, and those below it. With more than one, a parameter may be a
// row from outside.
void look_at_plan(Plan *plan, double loops, SlowLoop *slowest) {
  if (plan == nullptr) return;
  check_stack_depth();
  double inner_loops = loops;
  switch (nodeTag(plan)) {
    case T_NestLoop:
      look_at_loop(reinterpret_cast<NestLoop *>(plan), loops, slowest);
      if (reinterpret_cast<NestLoop *>(plan)->nestParams != NIL) inner_loops *= outerPlan(plan)->plan_rows;
      break;
    case T_Append:
      look_at_plans(reinterpret_cast<Append *>(plan)->appendplans, loops, slowest);
      break;
    case T_MergeAppend:
      look_at_plans(reinterpret_cast<MergeAppend *>(plan)->mergeplans, loops, slowest);
      break;
    case T_SubqueryScan:
      look_at_plan(reinterpret_cast<SubqueryScan *>(plan)->subplan, loops, slowest);
      break;
    case T_CustomScan:
      // Its last child computes the similarities of all rows, but is a last resort.
      if (is_scan_of_nearest(reinterpret_cast<CustomScan *>(plan))) return;
      look_at_plans(reinterpret_cast<CustomScan *>(plan)->custom_plans, loops, slowest);
      break;
    case T_IndexScan:
      look_at_index_scan(plan, reinterpret_cast<IndexScan *>(plan)->indexqualorig, loops, slowest);
      break;
    default:
      break;
  }
  if (loops > 1 && reads_all_rows(plan)) look_at_rows(plan, loops, slowest);
  look_at_plan(outerPlan(plan), loops, slowest);
  look_at_plan(innerPlan(plan), inner_loops, slowest);
}

void look_at_statement(const PlannedStmt *statement) {
  SlowLoop slowest = {};
  look_at_plan(statement->planTree, 1, &slowest);
  look_at_plans(statement->subplans, least_loops_of_subplan, &slowest);
  if (!slowest.found) return;
  const Obstacle obstacle =
      Settings::enable_join() ? slowest.obstacle : Obstacle{"simjoin.enable_join is off", nullptr};
  add_explain_note(psprintf("Similarity Join Not Used: %s", obstacle.why));
  // Elsewhere the similarity is computed for a condition.
  const Obstacle of_pairs = obstacle.why == no_bound.why ? planning_obstacles.nearest_pairs : Obstacle{};
  if (of_pairs.why != nullptr) add_explain_note(psprintf("Nearest Pairs Not Used: %s", of_pairs.why));
  if (!Settings::enable_join() || Settings::notice_pairs() == 0 || slowest.pairs < Settings::notice_pairs())
    return;
  ereport(NOTICE,
          (errmsg("the plan computes a similarity for some %.0e pairs of rows, one after the other",
                  slowest.pairs),
           of_pairs.why == nullptr
               ? errdetail("The similarity join is not used: %s.", obstacle.why)
               : errdetail("The similarity join is not used: %s. The best pairs are not searched for: %s.",
                           obstacle.why, of_pairs.why),
           errhint("%s", of_pairs.why == nullptr ? obstacle.hint : of_pairs.hint)));
}

PlannedStmt *plan_statement(Query *query, const char *text, int cursor_options, ParamListInfo parameters) {
  const PlanningObstacles around = std::exchange(planning_obstacles, {});
  PlannedStmt *statement = previous_planner_hook != nullptr
                               ? previous_planner_hook(query, text, cursor_options, parameters)
                               : standard_planner(query, text, cursor_options, parameters);
  if (reports_nested_loops()) look_at_statement(statement);
  planning_obstacles = around;
  return statement;
}

}  // namespace

void install_nested_loop_notices() {
  previous_planner_hook = planner_hook;
  planner_hook = plan_statement;
}

}  // namespace simjoin::pg
