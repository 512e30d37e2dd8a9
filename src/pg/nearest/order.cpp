#include "pg/nearest/order.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/typcache.h"
}

#include <utility>

#include "pg/base/compat.hpp"
#include "pg/base/compat_paths.hpp"
#include "pg/join/clause/implied.hpp"
#include "pg/join/clause/match.hpp"
#include "pg/join/clause/trigrams.hpp"

namespace simjoin::pg {
namespace {

bool has_outer_parameter(Node *expr, void *context) {
  if (expr == nullptr) return false;
  if (IsA(expr, Param) && castNode(Param, expr)->paramkind == PARAM_EXEC) return true;
  return compat::walk_children(expr, has_outer_parameter, context);
}

bool computed_once(Node *expr) {
  return is_value_of_row(expr) && !contain_volatile_functions(expr) && !contain_subplans(expr);
}

// Returns the one expression that the key sorts rows of the relation by, NULL where there are several.
Expr *sorted_expression(RelOptInfo *rel, const PathKey *key) {
  Expr *found = nullptr;
  int expressions = 0;
  compat::for_equal_expressions(key->pk_eclass, rel->relids, [&](Expr *equal) {
    found = equal;
    ++expressions;
  });
  return expressions == 1 ? found : nullptr;
}

// Returns whether numbers are sorted as such.
bool is_usual_order(const PathKey *key, Node *expr) {
  return lookup_type_cache(exprType(expr), TYPECACHE_BTREE_OPFAMILY)->btree_opf == key->pk_opfamily;
}

// Returns whether the expression is the similarity or the distance of two texts by pg_trgm, which is that of
// their sets but for its precision, and describes these.
bool describe_trigram_order(Node *expr, SimilarityClause *sets) {
  TrigramCall call;
  if (exprType(expr) != FLOAT4OID || !describe_trigram_call(expr, &call)) return false;
  *sets = call.sets;
  sets->distance = call.result == TrigramResult::distance;
  return call.sets.measure == Measure::jaccard;  // the measures of words are bounded by one of sets
}

// Returns whether the weights of both sets can be computed as often as these.
bool weights_beside_sets(PlannerInfo *root, RelOptInfo *rel, Expr *of_probe, Expr *of_set) {
  auto *probe = reinterpret_cast<Node *>(of_probe), *set = reinterpret_cast<Node *>(of_set);
  if (!bms_is_empty(pull_varnos(root, probe)) || !computed_once(probe)) return false;
  return bms_is_subset(pull_varnos(root, set), rel->relids) && !depends_on_outer(set) && computed_once(set);
}

// Fills in the sets of the clause, and their measure. Returns false where they are not one of the relation
// and one from outside.
bool take_sets(PlannerInfo *root, RelOptInfo *rel, const SimilarityClause &clause, SimilarityOrder *order) {
  bool swapped;
  if (!take_sides(root, rel, clause.left, clause.right, order, &swapped)) return false;
  order->probe_weights = swapped ? clause.right_weights : clause.left_weights;
  order->set_weights = swapped ? clause.left_weights : clause.right_weights;
  if (clause.weighted() && !weights_beside_sets(root, rel, order->probe_weights, order->set_weights))
    return false;
  order->of_sets = clause.call;
  order->measure = swapped ? reversed(clause.measure) : clause.measure;
  order->distance = clause.distance;
  return token_type_of(exprType(reinterpret_cast<Node *>(order->set)), &order->token_type);
}

// Returns the clauses that the condition implies or, not `implied`, the one that it is.
List *clauses_of_condition(PlannerInfo *root, RestrictInfo *condition, bool implied) {
  if (implied) return implied_clauses(root, condition);
  auto *clause = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
  auto *op = reinterpret_cast<OpExpr *>(condition->clause);
  return IsA(op, OpExpr) && describe_comparison(op, clause) ? list_make1(clause) : NIL;
}

bool describe_any_call(Node *expr, SimilarityClause *call) {
  return describe_call(expr, call) || describe_weighted_call(expr, call);
}

}  // namespace

Expr *usual_sort_expression(RelOptInfo *rel, const PathKey *key) {
  if (key->pk_eclass->ec_has_volatile) return nullptr;
  Expr *expr = sorted_expression(rel, key);
  return expr != nullptr && is_usual_order(key, reinterpret_cast<Node *>(expr)) ? expr : nullptr;
}

bool take_sides(PlannerInfo *root, RelOptInfo *rel, Expr *first, Expr *second, SimilarityOrder *order,
                bool *swapped) {
  Expr *probe = first, *set = second;
  *swapped = bms_is_empty(pull_varnos(root, reinterpret_cast<Node *>(set)));
  if (*swapped) std::swap(probe, set);
  auto *probe_node = reinterpret_cast<Node *>(probe), *set_node = reinterpret_cast<Node *>(set);
  if (!bms_is_empty(pull_varnos(root, probe_node)) || !has_outer_parameter(probe_node, nullptr)) return false;
  if (!bms_equal(pull_varnos(root, set_node), rel->relids) || depends_on_outer(set_node)) return false;
  order->probe = probe;
  order->set = set;
  return computed_once(probe_node) && computed_once(set_node);
}

bool is_bound_of_row(Expr *threshold) {
  auto *node = reinterpret_cast<Node *>(threshold);
  return !contain_var_clause(node) && computed_once(node);
}

bool describe_similarity_order(PlannerInfo *root, RelOptInfo *rel, const PathKey *key,
                               SimilarityOrder *order) {
  Expr *expr = usual_sort_expression(rel, key);
  SimilarityClause call = {};
  if (expr == nullptr) return false;
  const bool single = describe_trigram_order(reinterpret_cast<Node *>(expr), &call);
  if (!single && (!describe_any_call(reinterpret_cast<Node *>(expr), &call) || call.call != expr))
    return false;
  if (call.distance != compat::ascends(key)) return false;
  order->call = expr;
  order->single = single;
  order->nulls_first = key->pk_nulls_first;
  return take_sets(root, rel, call, order);
}

bool sorts_joined_rows(const PathKey *key) {
  ListCell *cell;
  foreach (cell, key->pk_eclass->ec_members) {
    auto *member = lfirst_node(EquivalenceMember, cell);
    auto *expr = reinterpret_cast<Node *>(member->em_expr);
    SimilarityClause call = {};
    if (bms_membership(member->em_relids) == BMS_MULTIPLE && has_outer_parameter(expr, nullptr) &&
        describe_any_call(expr, &call))
      return true;
  }
  return false;
}

bool depends_on_outer(Node *expr) {
  return has_outer_parameter(expr, nullptr) || contain_subplans(expr);
}

bool is_value_of_row(Node *expr) {
  return !expression_returns_set(expr) && !contain_agg_clause(expr) && !contain_window_function(expr);
}

Expr *bound_of_order(PlannerInfo *root, const SimilarityOrder &order, RestrictInfo *condition) {
  ListCell *cell;
  foreach (cell, clauses_of_condition(root, condition, order.single)) {
    auto *clause = static_cast<const SimilarityClause *>(lfirst(cell));
    const bool same = order.single || clause->distance == order.distance;
    if (same && equal(clause->call, order.of_sets) && is_bound_of_row(clause->threshold))
      return clause->threshold;
  }
  return nullptr;
}

List *bounds_of_condition(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *condition) {
  List *bounds = NIL;
  ListCell *cell;
  List *clauses =
      list_concat(clauses_of_condition(root, condition, false), clauses_of_condition(root, condition, true));
  foreach (cell, clauses) {
    auto *clause = static_cast<const SimilarityClause *>(lfirst(cell));
    auto *bound = static_cast<SimilarityBound *>(palloc0(sizeof(SimilarityBound)));
    bound->bound = clause->threshold;
    if (is_bound_of_row(clause->threshold) && take_sets(root, rel, *clause, &bound->sets))
      bounds = lappend(bounds, bound);
  }
  return bounds;
}

}  // namespace simjoin::pg
