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

namespace simjoin::pg {
namespace {

// How far the double that PostgreSQL computes for a sum may be from the sum, as a share of its terms. Doubles
// are more exact by orders of magnitude, for any sum that a query can have.
constexpr double rounding = 1e-9;
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
  double size;  // of all that was added, without signs
  List *terms;
};

bool constant_value(Node *expr, double *value) {
  expr = strip_implicit_coercions(expr);
  if (!IsA(expr, Const)) return false;
  auto *constant = castNode(Const, expr);
  if (constant->consttype != FLOAT8OID || constant->constisnull) return false;
  *value = DatumGetFloat8(constant->constvalue);
  return std::isfinite(*value);
}

// Adds factor * expr to the sum. Returns false where the expression is none.
bool add_to_sum(Node *expr, double factor, Sum *sum) {
  expr = strip_implicit_coercions(expr);
  double value;
  if (constant_value(expr, &value)) {
    sum->constant += factor * value;
    sum->size += std::fabs(factor * value);
    return std::isfinite(sum->size);
  }
  Term term = {};
  if (describe_call(expr, &term.call)) {
    // A number of shared tokens has no bound.
    if (term.call.measure == Measure::overlap) return false;
    term.factor = factor;
    sum->size += std::fabs(factor);
    auto *kept = static_cast<Term *>(palloc(sizeof(Term)));
    *kept = term;
    sum->terms = lappend(sum->terms, kept);
    return std::isfinite(sum->size);
  }
  if (!IsA(expr, OpExpr)) return false;
  auto *op = castNode(OpExpr, expr);
  set_opfuncid(op);
  auto *first = static_cast<Node *>(linitial(op->args)), *last = static_cast<Node *>(llast(op->args));
  switch (op->opfuncid) {
    case F_FLOAT8PL:
      return add_to_sum(first, factor, sum) && add_to_sum(last, factor, sum);
    case F_FLOAT8MI:
      return add_to_sum(first, factor, sum) && add_to_sum(last, -factor, sum);
    case F_FLOAT8UM:
      return add_to_sum(first, -factor, sum);
    case F_FLOAT8MUL:
      if (constant_value(last, &value)) return add_to_sum(first, factor * value, sum);
      return constant_value(first, &value) && add_to_sum(last, factor * value, sum);
    case F_FLOAT8DIV:
      return constant_value(last, &value) && value != 0 && add_to_sum(first, factor / value, sum);
    default:
      return false;
  }
}

// Returns the comparison `call >= bound` or, for a distance, `call <= bound`.
Expr *comparison(const SimilarityClause &clause) {
  char *name = pstrdup(clause.distance ? "<=" : ">=");
  List *names = list_make2(makeString(pstrdup("pg_catalog")), makeString(name));
  const Oid oper = OpernameGetOprid(names, FLOAT8OID, FLOAT8OID);
  Expr *comparison =
      make_opclause(oper, BOOLOID, false, clause.call, clause.threshold, InvalidOid, InvalidOid);
  set_opfuncid(castNode(OpExpr, comparison));
  return comparison;
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
  const double size = std::fabs(term.factor), slack = rounding * (1 + sum.size / size);
  double bound = (clause->distance ? most_of_others : -most_of_others) / size;
  bound = clause->distance ? std::ceil((bound + slack) * parts) / parts
                           : std::floor((bound - slack) * parts) / parts;
  if (!(clause->distance ? bound < 1 : bound > 0)) return false;
  clause->threshold = reinterpret_cast<Expr *>(
      makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(bound), false, FLOAT8PASSBYVAL));
  clause->rinfo = make_simple_restrictinfo(root, comparison(*clause));
  return true;
}

}  // namespace

List *implied_clauses(PlannerInfo *root, RestrictInfo *rinfo) {
  if (!IsA(rinfo->clause, OpExpr) || is_similarity_clause(rinfo)) return NIL;
  auto *op = castNode(OpExpr, rinfo->clause);
  if (list_length(op->args) != 2) return NIL;
  set_opfuncid(op);
  auto *greater = static_cast<Node *>(linitial(op->args)), *lesser = static_cast<Node *>(lsecond(op->args));
  switch (op->opfuncid) {
    case F_FLOAT8GE:
    case F_FLOAT8GT:
      break;
    case F_FLOAT8LE:
    case F_FLOAT8LT:
      std::swap(greater, lesser);
      break;
    default:
      return NIL;
  }
  Sum sum = {};
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

}  // namespace simjoin::pg
