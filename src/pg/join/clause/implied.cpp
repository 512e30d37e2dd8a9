#include "pg/join/clause/implied.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/restrictinfo.h"
}

#include <algorithm>
#include <cmath>

#include "pg/base/compat.hpp"
#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/expressions.hpp"
#include "pg/join/clause/jaro.hpp"
#include "pg/join/clause/trigrams.hpp"

namespace simjoin::pg {
namespace {

// Bounds are rounded to whole parts of this number, so that EXPLAIN shows them in few digits.
constexpr double parts = 1e6;

// Returns the comparison `call >= bound` or, for a distance, `call <= bound`.
Expr *comparison(const SimilarityClause &clause) {
  return operation(clause.distance ? "<=" : ">=", BOOLOID, as_double(reinterpret_cast<Node *>(clause.call)),
                   clause.threshold);
}

// Returns what all terms that rise but this one can add to the sum.
double most_of_others(const Sum &sum, const Term *term) {
  double most = 0;
  ListCell *cell;
  foreach (cell, sum.terms) {
    auto *other = static_cast<const Term *>(lfirst(cell));
    if (other != term && other->rises()) most += other->weight() * other->most();
  }
  return most;
}

// Returns the clause that a call of pg_trgm implies if its similarity is at least `least`, an expression of
// double precision, which may be too large by `slack`.
SimilarityClause *clause_of_trigrams(PlannerInfo *root, const TrigramCall &call, Expr *least, double slack) {
  auto *clause = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
  *clause = call.sets;
  clause->threshold = extreme_of(IS_GREATEST, minus(least, number(slack + single_rounding)), number(0));
  clause->rinfo = make_simple_restrictinfo(root, comparison(*clause));
  return clause;
}

// Lets the clause be that its call of overlap_count is at least 1.
void ask_for_common_key(PlannerInfo *root, SimilarityClause *clause) {
  clause->threshold = reinterpret_cast<Expr *>(
      makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true));
  clause->rinfo =
      make_simple_restrictinfo(root, operation(">=", BOOLOID, clause->call, clause->threshold, INT4OID));
}

// Returns the clauses of keys in common that a condition on edit distances implies.
List *clauses_of_edits(PlannerInfo *root, Node *condition) {
  List *clauses = keys_of_edit_condition(condition);
  ListCell *cell;
  foreach (cell, clauses) ask_for_common_key(root, static_cast<SimilarityClause *>(lfirst(cell)));
  return clauses;
}

// Returns the clause that a similarity of texts by Jaro or Winkler implies if it is at least `least`, an
// expression of double precision.
SimilarityClause *clause_of_jaro(PlannerInfo *root, JaroKind kind, const SimilarityClause &keys,
                                 Expr *least) {
  auto *clause = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
  *clause = keys;
  clause->threshold = cosine_of_jaro(kind, minus(least, number(digits_rounding)));
  clause->rinfo = make_simple_restrictinfo(root, comparison(*clause));
  return clause;
}

// Returns whether the expression is no constant and never too large for double precision.
bool is_usual_bound(Node *expr) {
  return !IsA(expr, Const) && exprType(expr) != NUMERICOID;
}

// Returns the clause that a call of pg_trgm, or a similarity by Jaro or Winkler, implies if it is compared
// with an expression that is the same for all pairs but no constant, NULL for other comparisons.
SimilarityClause *bound_call(PlannerInfo *root, Node *greater, Node *lesser) {
  SimilarityClause keys;
  const JaroKind kind = describe_jaro_call(without_cast(greater), &keys);
  if (kind != JaroKind::none)
    return same_for_all_pairs(root, lesser) && is_usual_bound(lesser)
               ? clause_of_jaro(root, kind, keys, as_double(lesser))
               : nullptr;
  TrigramCall call;
  if (describe_trigram_call(without_cast(greater), &call) && call.result == TrigramResult::similarity &&
      same_for_all_pairs(root, lesser) && is_usual_bound(lesser))
    return clause_of_trigrams(root, call, as_double(lesser), digits_rounding);
  if (!describe_trigram_call(without_cast(lesser), &call) || call.result != TrigramResult::distance ||
      !same_for_all_pairs(root, greater) || !is_usual_bound(greater))
    return nullptr;
  // Every distance is within NaN, which is more than any other number.
  Expr *within = extreme_of(IS_LEAST, as_double(greater), number(2));
  return clause_of_trigrams(root, call, minus(number(1), within), digits_rounding);
}

// Returns the clauses that a comparison of sums implies.
List *clauses_of_sums(PlannerInfo *root, Node *greater, Node *lesser) {
  Sum sum;
  if (!describe_difference(greater, lesser, &sum)) return NIL;
  const double needed = needed_gain(sum);
  List *clauses = NIL;
  ListCell *cell;
  foreach (cell, sum.terms) {
    auto *term = static_cast<const Term *>(lfirst(cell));
    SimilarityClause clause;
    if (!term->rises() || !bound_term(root, sum, *term, needed - most_of_others(sum, term), &clause))
      continue;
    auto *kept = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
    *kept = clause;
    clauses = lappend(clauses, kept);
  }
  return clauses;
}

}  // namespace

bool bound_term(PlannerInfo *root, const Sum &sum, const Term &term, double gain, SimilarityClause *clause) {
  *clause = term.call;
  const double slack = sum.rounding * (1 + sum.size / term.weight());
  double least = gain / term.weight() - slack;
  if (term.edits) {
    const double similarity = std::floor(least * parts) / parts;
    if (!std::isfinite(similarity) || !bound_edit_share(similarity, clause)) return false;
    ask_for_common_key(root, clause);
    return true;
  }
  if (term.jaro != JaroKind::none) least = cosine_of_jaro(term.jaro, least);
  const double bound =
      clause->distance ? std::ceil((1 - least) * parts) / parts : std::floor(least * parts) / parts;
  if (!std::isfinite(bound) || !(clause->distance ? bound < 1 : bound > 0)) return false;
  clause->threshold = number(bound);
  clause->rinfo = make_simple_restrictinfo(root, comparison(*clause));
  return true;
}

List *implied_clauses(PlannerInfo *root, RestrictInfo *rinfo) {
  auto *clause = reinterpret_cast<Node *>(rinfo->clause);
  TrigramCall call;
  if (exprType(clause) == BOOLOID && describe_trigram_call(clause, &call)) {
    Expr *least = trigram_setting(call);
    return least == nullptr ? NIL : list_make1(clause_of_trigrams(root, call, least, digits_rounding));
  }
  List *keys = clauses_of_edits(root, clause);
  if (keys != NIL) return keys;
  Node *greater, *lesser;
  if (describe_equality(clause, &greater, &lesser))
    return list_concat(clauses_of_sums(root, greater, lesser), clauses_of_sums(root, lesser, greater));
  if (!describe_order(clause, &greater, &lesser) || is_similarity_clause(rinfo)) return NIL;
  List *clauses = clauses_of_sums(root, greater, lesser);
  SimilarityClause *bounded = clauses == NIL ? bound_call(root, greater, lesser) : nullptr;
  return bounded == nullptr ? clauses : list_make1(bounded);
}

}  // namespace simjoin::pg
