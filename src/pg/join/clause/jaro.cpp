#include "pg/join/clause/jaro.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
}

#include <algorithm>
#include <string_view>

#include "core/text/jaro.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/bound_symbol.hpp"
#include "pg/join/clause/expressions.hpp"

namespace simjoin::pg {
namespace {

// That of a similarity of 0.85 by Winkler. Below it, most pairs of names are candidates.
constexpr double least_useful_cosine = 0.499;

// What roundings of a cosine and its root may take from it.
constexpr double cosine_slack = 1e-9;

// Beyond what any similarity can be.
constexpr double above_all = 2;

struct JaroFunction {
  std::string_view symbol;
  JaroKind kind;
};
constexpr JaroFunction jaro_functions[] = {{"simjoin_jaro_similarity", JaroKind::jaro},
                                           {"simjoin_jaro_winkler_similarity", JaroKind::jaro_winkler}};

}  // namespace

JaroKind describe_jaro_call(Node *expr, SimilarityClause *keys) {
  if (!IsA(expr, FuncExpr) || exprType(expr) != FLOAT8OID) return JaroKind::none;
  auto *function = castNode(FuncExpr, expr);
  const JaroFunction *known = entry_of_symbol(jaro_functions, bound_symbol(function->funcid));
  const Oid schema = known == nullptr ? InvalidOid : extension_schema("simjoin");
  if (!OidIsValid(schema) || list_length(function->args) != 2) return JaroKind::none;
  const Oid keys_function = find_function(schema, "jaro_keys", {TEXTOID}, INT8ARRAYOID);
  const Oid measure =
      find_function(schema, measure_function(Measure::cosine), {INT8ARRAYOID, INT8ARRAYOID}, FLOAT8OID);
  if (!OidIsValid(keys_function) || !OidIsValid(measure)) return JaroKind::none;
  auto keys_of = [&](void *text) {
    return call_function(keys_function, INT8ARRAYOID, list_make1(text),
                         exprCollation(static_cast<Node *>(text)));
  };
  *keys = {};
  keys->measure = Measure::cosine;
  keys->left = keys_of(linitial(function->args));
  keys->right = keys_of(lsecond(function->args));
  keys->call = call_function(measure, FLOAT8OID, list_make2(keys->left, keys->right), InvalidOid);
  return known->kind;
}

double cosine_of_jaro(JaroKind kind, double least) {
  const double cosine = kind == JaroKind::jaro ? least_cosine_for_jaro(std::min(least, above_all))
                                               : least_cosine_for_jaro_winkler(std::min(least, above_all));
  return cosine < least_useful_cosine ? 0 : cosine - cosine_slack;
}

Expr *cosine_of_jaro(JaroKind kind, Expr *least) {
  const bool winkler = kind == JaroKind::jaro_winkler;
  Expr *usual = extreme_of(IS_GREATEST, extreme_of(IS_LEAST, least, number(above_all)), number(0));
  Expr *square = minus(operation("*", FLOAT8OID, usual, number(winkler ? 5 : 3)), number(winkler ? 4 : 2));
  Expr *root = call_function(F_SQRT_FLOAT8, FLOAT8OID, list_make1(extreme_of(IS_GREATEST, square, number(0))),
                             InvalidOid);
  return extreme_of(IS_GREATEST, minus(root, number(cosine_slack)), number(0));
}

}  // namespace simjoin::pg
