#include "pg/join/clause/threshold_warning.hpp"

extern "C" {
#include "access/xact.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/memutils.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/clause/sums.hpp"
#include "pg/join/clause/threshold.hpp"

namespace simjoin::pg {
namespace {

// The query that was looked at last, while its planner's memory lasts.
const PlannerInfo *looked_at = nullptr;

// Returns whether two sets satisfy the condition for no other reason than that its threshold is out of range.
bool all_satisfy(const Bounded &condition, double threshold) {
  return condition.distance ? float8_gt(threshold, 1.0) : threshold < 0;
}

// Returns whether the statement that the client has sent has had no warning yet. What functions run for it
// belongs to it.
bool is_first_of_statement() {
  static TimestampTz warned = 0;
  const TimestampTz begun = GetCurrentStatementStartTimestamp();
  if (begun == warned) return false;
  warned = begun;
  return true;
}

const char *relation_of(const Bounded &condition) {
  if (condition.distance) return condition.strict ? "<" : "<=";
  return condition.strict ? ">" : ">=";
}

// Returns the value of the threshold if it is a constant, or a parameter whose value the plan is made for,
// with casts that nobody wrote, else nullptr. Other expressions are not computed: they may raise an error
// where the query never computes them.
const Const *value_while_planning(const PlannerInfo *root, Expr *threshold) {
  auto *expr = reinterpret_cast<Node *>(threshold);
  Node *written = strip_implicit_coercions(expr);
  if (!IsA(written, Const) && !IsA(written, Param)) return nullptr;
  PlannerInfo *apart = makeNode(PlannerInfo);
  apart->glob = makeNode(PlannerGlobal);
  apart->glob->boundParams = root->glob->boundParams;
  Node *value = eval_const_expressions(apart, expr);
  return IsA(value, Const) ? castNode(Const, value) : nullptr;
}

// Returns what compares two texts from 0 to 1 in the expression, nullptr where nothing does.
const char *comparison_of_texts(Node *expr, bool distance) {
  Sum sum = {};
  if (!add_to_sum(expr, 1, &sum) || list_length(sum.terms) != 1) return nullptr;
  auto *term = static_cast<const Term *>(linitial(sum.terms));
  if (term->edits && distance) return term->factor == 1 && sum.constant == 0 ? "edits / length" : nullptr;
  if (term->edits) return term->factor == -1 && sum.constant == 1 ? "1 - edits / length" : nullptr;
  if (term->jaro == JaroKind::none || distance || term->factor != 1 || sum.constant != 0) return nullptr;
  return term->jaro == JaroKind::jaro ? "jaro_similarity" : "jaro_winkler_similarity";
}

void check_comparison_of_texts(const PlannerInfo *root, OpExpr *op) {
  Node *greater, *lesser;
  bool strict;
  if (!describe_order(reinterpret_cast<Node *>(op), &greater, &lesser, &strict)) return;
  for (const bool distance : {false, true}) {
    const Const *value = value_while_planning(root, reinterpret_cast<Expr *>(distance ? greater : lesser));
    if (value == nullptr || value->constisnull) continue;
    const char *function = comparison_of_texts(distance ? lesser : greater, distance);
    double threshold;
    if (function != nullptr &&
        constant_value(reinterpret_cast<Node *>(const_cast<Const *>(value)), &threshold))
      warn_of_threshold({function, Measure::jaccard, distance, strict, true}, &threshold);
  }
}

void check_comparison(const PlannerInfo *root, OpExpr *op) {
  SimilarityClause clause;
  if (!describe_comparison(op, &clause)) return check_comparison_of_texts(root, op);
  const Const *value = value_while_planning(root, clause.threshold);
  if (value == nullptr) return;
  const char *function = clause.weighted() ? weighted_function(clause.measure)
                         : clause.distance ? "jaccard_distance"
                                           : measure_function(clause.measure);
  const double threshold = value->constisnull ? 0 : threshold_value(value->constvalue, value->consttype);
  warn_of_threshold({function, clause.measure, clause.distance, clause.strict},
                    value->constisnull ? nullptr : &threshold);
}

// Looks at the comparisons in an expression. The queries in it have a plan, and their turn, of their own.
bool check_comparisons(Node *expr, void *root) {
  if (expr == nullptr || IsA(expr, Query)) return false;
  if (IsA(expr, OpExpr)) check_comparison(static_cast<PlannerInfo *>(root), castNode(OpExpr, expr));
  return compat::walk_children(expr, check_comparisons, root);
}

}  // namespace

bool is_satisfiable(const Bounded &condition, double threshold) {
  if (condition.distance) return within_distance(0.0, threshold, condition.strict);
  return float8_le(condition.strict ? next_above(threshold) : threshold,
                   largest_similarity(condition.measure));
}

void warn_of_threshold(const Bounded &condition, const double *threshold) {
  const bool satisfiable = threshold != nullptr && is_satisfiable(condition, *threshold);
  if ((satisfiable && !all_satisfy(condition, *threshold)) || !is_first_of_statement()) return;
  ereport(WARNING, (errmsg("%s %s satisfy %s %s %s", satisfiable ? "all" : "no two",
                           condition.texts ? "texts" : "sets", condition.function, relation_of(condition),
                           threshold == nullptr ? "NULL" : float8out_internal(*threshold)),
                    condition.measure == Measure::overlap
                        ? errhint("The threshold is a number of tokens that sets share.")
                        : errhint("The threshold is a number from 0 to 1: for 80 percent write 0.8.")));
}

bool is_known_threshold(Expr *threshold) {
  return IsA(strip_implicit_coercions(reinterpret_cast<Node *>(threshold)), Const);
}

void warn_of_thresholds(PlannerInfo *root) {
  if (root->parse == nullptr || root->planner_cxt == nullptr || root == looked_at) return;
  looked_at = root;
  auto *forget = static_cast<MemoryContextCallback *>(
      MemoryContextAllocZero(root->planner_cxt, sizeof(MemoryContextCallback)));
  forget->func = [](void *) { looked_at = nullptr; };
  MemoryContextRegisterResetCallback(root->planner_cxt, forget);
  check_comparisons(reinterpret_cast<Node *>(root->parse->jointree), root);
}

}  // namespace simjoin::pg
