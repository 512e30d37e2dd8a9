#include "pg/join/implied.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/restrictinfo.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cmath>

#include "pg/base/compat.hpp"
#include "pg/join/trigrams.hpp"

namespace simjoin::pg {
namespace {

// How far the number that PostgreSQL computes for a sum may be from the sum, as a share of its terms: with
// doubles, which are more exact by orders of magnitude for any sum that a query can have, and what each value
// of single precision adds.
constexpr double double_rounding = 1e-9;
constexpr double single_rounding = 1e-7;
// How far the text of a setting of pg_trgm, which has six digits, may be from its value.
constexpr double setting_rounding = 1e-6;
// Bounds are rounded to whole parts of this number, so that EXPLAIN shows them in few digits.
constexpr double parts = 1e6;

// A similarity or a distance of the sum, and its factor.
struct Term {
  SimilarityClause call;  // with measure, distance, call, left and right
  double factor;
};

// A sum of constants and terms. Every term is between 0 and 1.
struct Sum {
  double constant;
  double size;      // of all that was added, without signs
  double rounding;  // as a share of its size, how far the computed sum may be from the sum
  List *terms;
};

bool constant_value(Node *expr, double *value) {
  expr = strip_implicit_coercions(expr);
  if (!IsA(expr, Const)) return false;
  auto *constant = castNode(Const, expr);
  if (constant->constisnull) return false;
  if (constant->consttype == FLOAT8OID) {
    *value = DatumGetFloat8(constant->constvalue);
  } else if (constant->consttype == FLOAT4OID) {
    *value = DatumGetFloat4(constant->constvalue);
  } else {
    return false;
  }
  return std::isfinite(*value);
}

void add_term(const SimilarityClause &call, double factor, Sum *sum) {
  auto *kept = static_cast<Term *>(palloc(sizeof(Term)));
  *kept = {call, factor};
  sum->size += std::fabs(factor);
  sum->terms = lappend(sum->terms, kept);
}

// Adds factor * call, which is of pg_trgm. Its similarity has single precision.
bool add_trigram_call(const TrigramCall &call, double factor, Sum *sum) {
  sum->rounding += single_rounding;
  if (call.result == TrigramResult::distance) {
    sum->constant += factor;
    sum->size += std::fabs(factor);
    factor = -factor;
  }
  add_term(call.sets, factor, sum);
  return call.result != TrigramResult::reaches_setting && std::isfinite(sum->size);
}

// What PostgreSQL computes with numbers of single and double precision.
enum class Arithmetic { none, plus, minus, negative, times, divided };

// Returns what the function computes. *single tells whether the result is of single precision.
Arithmetic arithmetic_of(Oid function, bool *single) {
  *single = function == F_FLOAT4PL || function == F_FLOAT4MI || function == F_FLOAT4UM ||
            function == F_FLOAT4MUL || function == F_FLOAT4DIV;
  switch (function) {
    case F_FLOAT8PL:
    case F_FLOAT4PL:
    case F_FLOAT48PL:
    case F_FLOAT84PL:
      return Arithmetic::plus;
    case F_FLOAT8MI:
    case F_FLOAT4MI:
    case F_FLOAT48MI:
    case F_FLOAT84MI:
      return Arithmetic::minus;
    case F_FLOAT8UM:
    case F_FLOAT4UM:
      return Arithmetic::negative;
    case F_FLOAT8MUL:
    case F_FLOAT4MUL:
    case F_FLOAT48MUL:
    case F_FLOAT84MUL:
      return Arithmetic::times;
    case F_FLOAT8DIV:
    case F_FLOAT4DIV:
    case F_FLOAT48DIV:
    case F_FLOAT84DIV:
      return Arithmetic::divided;
    default:
      return Arithmetic::none;
  }
}

// Returns the expression below casts from single to double precision.
Node *without_cast(Node *expr) {
  expr = strip_implicit_coercions(expr);
  while (IsA(expr, FuncExpr) && castNode(FuncExpr, expr)->funcid == F_FLOAT8_FLOAT4)
    expr = strip_implicit_coercions(static_cast<Node *>(linitial(castNode(FuncExpr, expr)->args)));
  return expr;
}

// Adds factor * expr to the sum. Returns false where the expression is none.
bool add_to_sum(Node *expr, double factor, Sum *sum) {
  expr = without_cast(expr);
  double value;
  if (constant_value(expr, &value)) {
    sum->constant += factor * value;
    sum->size += std::fabs(factor * value);
    return std::isfinite(sum->size);
  }
  SimilarityClause call = {};
  if (describe_call(expr, &call)) {
    // A number of shared tokens has no bound.
    if (call.measure == Measure::overlap) return false;
    add_term(call, factor, sum);
    return std::isfinite(sum->size);
  }
  TrigramCall trigrams;
  if (describe_trigram_call(expr, &trigrams)) return add_trigram_call(trigrams, factor, sum);
  if (!IsA(expr, OpExpr)) return false;
  auto *op = castNode(OpExpr, expr);
  set_opfuncid(op);
  auto *first = static_cast<Node *>(linitial(op->args)), *last = static_cast<Node *>(llast(op->args));
  bool single;
  const Arithmetic arithmetic = arithmetic_of(op->opfuncid, &single);
  if (single) sum->rounding += single_rounding;
  switch (arithmetic) {
    case Arithmetic::plus:
      return add_to_sum(first, factor, sum) && add_to_sum(last, factor, sum);
    case Arithmetic::minus:
      return add_to_sum(first, factor, sum) && add_to_sum(last, -factor, sum);
    case Arithmetic::negative:
      return add_to_sum(first, -factor, sum);
    case Arithmetic::times:
      if (constant_value(last, &value)) return add_to_sum(first, factor * value, sum);
      return constant_value(first, &value) && add_to_sum(last, factor * value, sum);
    case Arithmetic::divided:
      return constant_value(last, &value) && value != 0 && add_to_sum(first, factor / value, sum);
    default:
      return false;
  }
}

Expr *number(double value) {
  return reinterpret_cast<Expr *>(
      makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false, FLOAT8PASSBYVAL));
}

// Returns the expression, which is of single or double precision, in double precision.
Expr *as_double(Node *expr) {
  if (exprType(expr) == FLOAT8OID) return reinterpret_cast<Expr *>(expr);
  return reinterpret_cast<Expr *>(makeFuncExpr(F_FLOAT8_FLOAT4, FLOAT8OID, list_make1(expr), InvalidOid,
                                               InvalidOid, COERCE_EXPLICIT_CAST));
}

// Returns the call of PostgreSQL's operator on two expressions of double precision.
Expr *operation(const char *name, Oid result, Expr *left, Expr *right) {
  List *names = list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup(name)));
  const Oid oper = OpernameGetOprid(names, FLOAT8OID, FLOAT8OID);
  Expr *operation = make_opclause(oper, result, false, left, right, InvalidOid, InvalidOid);
  set_opfuncid(castNode(OpExpr, operation));
  return operation;
}

Expr *minus(Expr *left, Expr *right) {
  return operation("-", FLOAT8OID, left, right);
}

// Returns the comparison `call >= bound` or, for a distance, `call <= bound`.
Expr *comparison(const SimilarityClause &clause) {
  return operation(clause.distance ? "<=" : ">=", BOOLOID, clause.call, clause.threshold);
}

// Completes the clause that the sum, which is at least 0, implies for one of its terms. Returns false where
// it implies none.
bool bound_term(PlannerInfo *root, const Sum &sum, const Term &term, SimilarityClause *clause) {
  *clause = term.call;
  // A similarity is to be large, or a distance small.
  if (clause->distance ? term.factor >= 0 : term.factor <= 0) return false;
  double most_of_others = sum.constant;
  ListCell *cell;
  foreach (cell, sum.terms) {
    auto *other = static_cast<Term *>(lfirst(cell));
    if (other->call.call != term.call.call) most_of_others += std::max(other->factor, 0.0);
  }
  const double size = std::fabs(term.factor), slack = sum.rounding * (1 + sum.size / size);
  double bound = (clause->distance ? most_of_others : -most_of_others) / size;
  bound = clause->distance ? std::ceil((bound + slack) * parts) / parts
                           : std::floor((bound - slack) * parts) / parts;
  if (!(clause->distance ? bound < 1 : bound > 0)) return false;
  clause->threshold = number(bound);
  clause->rinfo = make_simple_restrictinfo(root, comparison(*clause));
  return true;
}

// Returns the clause that a call of pg_trgm implies if its similarity is at least `least`, an expression of
// double precision, which may be too large by `slack`.
SimilarityClause *clause_of_trigrams(PlannerInfo *root, const TrigramCall &call, Expr *least, double slack) {
  auto *clause = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
  *clause = call.sets;
  clause->threshold = minus(least, number(slack + single_rounding));
  clause->rinfo = make_simple_restrictinfo(root, comparison(*clause));
  return clause;
}

// Returns the clause that a call of pg_trgm implies if it is compared with an expression that is the same for
// all pairs but no constant, NULL for other comparisons.
SimilarityClause *bound_call(PlannerInfo *root, Node *greater, Node *lesser) {
  TrigramCall call;
  if (IsA(greater, Const) || IsA(lesser, Const)) return nullptr;
  if (describe_trigram_call(without_cast(greater), &call) && call.result == TrigramResult::similarity &&
      same_for_all_pairs(root, lesser))
    return clause_of_trigrams(root, call, as_double(lesser), 0);
  if (!describe_trigram_call(without_cast(lesser), &call) || call.result != TrigramResult::distance ||
      !same_for_all_pairs(root, greater))
    return nullptr;
  // Every distance is within NaN, which is more than any other number.
  auto *within = makeNode(MinMaxExpr);
  within->minmaxtype = FLOAT8OID;
  within->op = IS_LEAST;
  within->args = list_make2(as_double(greater), number(2));
  within->location = -1;
  return clause_of_trigrams(root, call, minus(number(1), reinterpret_cast<Expr *>(within)), 0);
}

// Returns the clauses that a comparison of sums implies.
List *clauses_of_sums(PlannerInfo *root, Node *greater, Node *lesser) {
  Sum sum = {};
  sum.rounding = double_rounding;
  if (!add_to_sum(greater, 1, &sum) || !add_to_sum(lesser, -1, &sum)) return NIL;
  List *clauses = NIL;
  ListCell *cell;
  foreach (cell, sum.terms) {
    SimilarityClause clause;
    if (!bound_term(root, sum, *static_cast<Term *>(lfirst(cell)), &clause)) continue;
    auto *kept = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
    *kept = clause;
    clauses = lappend(clauses, kept);
  }
  return clauses;
}

}  // namespace

List *implied_clauses(PlannerInfo *root, RestrictInfo *rinfo) {
  auto *clause = reinterpret_cast<Node *>(rinfo->clause);
  TrigramCall call;
  if (exprType(clause) == BOOLOID && describe_trigram_call(clause, &call)) {
    Expr *least = trigram_setting(call);
    return least == nullptr ? NIL : list_make1(clause_of_trigrams(root, call, least, setting_rounding));
  }
  Node *greater, *lesser;
  if (!describe_order(clause, &greater, &lesser) || is_similarity_clause(rinfo)) return NIL;
  List *clauses = clauses_of_sums(root, greater, lesser);
  SimilarityClause *bounded = clauses == NIL ? bound_call(root, greater, lesser) : nullptr;
  return bounded == nullptr ? clauses : list_make1(bounded);
}

}  // namespace simjoin::pg
