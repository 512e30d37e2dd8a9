#include "pg/join/clause/match.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

#include <string_view>
#include <utility>

#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/join/clause/implied.hpp"
#include "pg/join/clause/threshold.hpp"

namespace simjoin::pg {
namespace {

// The comparisons that a similarity clause may use. A measure is on the greater side, a distance on the
// other.
struct Comparison {
  Oid function;
  bool greater_on_right;
  bool strict;
};
constexpr Comparison comparisons[] = {
    {F_NUMERIC_GE, false, false}, {F_NUMERIC_GT, false, true}, {F_NUMERIC_LE, true, false},
    {F_NUMERIC_LT, true, true},   {F_FLOAT4GE, false, false},  {F_FLOAT4GT, false, true},
    {F_FLOAT4LE, true, false},    {F_FLOAT4LT, true, true},    {F_FLOAT8GE, false, false},
    {F_FLOAT8GT, false, true},    {F_FLOAT8LE, true, false},   {F_FLOAT8LT, true, true},
    {F_FLOAT84GE, false, false},  {F_FLOAT84GT, false, true},  {F_FLOAT84LE, true, false},
    {F_FLOAT84LT, true, true},    {F_FLOAT48GE, false, false}, {F_FLOAT48GT, false, true},
    {F_FLOAT48LE, true, false},   {F_FLOAT48LT, true, true},   {F_INT4GE, false, false},
    {F_INT4GT, false, true},      {F_INT4LE, true, false},     {F_INT4LT, true, true},
    {F_INT42GE, false, false},    {F_INT42GT, false, true},    {F_INT24LE, true, false},
    {F_INT24LT, true, true},      {F_INT48GE, false, false},   {F_INT48GT, false, true},
    {F_INT84LE, true, false},     {F_INT84LT, true, true},     {F_INT42LE, true, false},
    {F_INT42LT, true, true},      {F_INT24GE, false, false},   {F_INT24GT, false, true},
    {F_INT48LE, true, false},     {F_INT48LT, true, true},     {F_INT84GE, false, false},
    {F_INT84GT, false, true},
};

const Comparison *comparison_of(Oid function) {
  for (const Comparison &candidate : comparisons)
    if (candidate.function == function) return &candidate;
  return nullptr;
}

// Returns the comparison that the operator makes and its arguments, NULL for other operators.
const Comparison *parse_comparison(OpExpr *op, Node **greater, Node **lesser) {
  set_opfuncid(op);
  const Comparison *comparison = comparison_of(op->opfuncid);
  if (comparison == nullptr) return nullptr;
  *greater = static_cast<Node *>(linitial(op->args));
  *lesser = static_cast<Node *>(lsecond(op->args));
  if (comparison->greater_on_right) std::swap(*greater, *lesser);
  return comparison;
}

enum class Call { none, measure, weighted, distance, similar };

// Returns what the function is: a measure, with weights or without, a distance, the function behind `~=`, or
// none of these. For all but the last two *measure is set. Functions are recognised by the C function that
// they are bound to.
Call classify(Oid function, Measure *measure) {
  if (!OidIsValid(get_func_support(function))) return Call::none;
  char *symbol = bound_symbol(function);
  if (symbol == nullptr) return Call::none;
  const std::string_view name = symbol;
  Call call = name == "simjoin_similar" ? Call::similar : Call::none;
  constexpr struct {
    std::string_view symbol;
    Call call;
    Measure measure;
  } measures[] = {{"simjoin_jaccard_similarity", Call::measure, Measure::jaccard},
                  {"simjoin_cosine_similarity", Call::measure, Measure::cosine},
                  {"simjoin_dice_similarity", Call::measure, Measure::dice},
                  {"simjoin_overlap_count", Call::measure, Measure::overlap},
                  {"simjoin_overlap_coefficient", Call::measure, Measure::overlap_coefficient},
                  {"simjoin_containment", Call::measure, Measure::containment},
                  {"simjoin_weighted_jaccard_similarity", Call::weighted, Measure::jaccard},
                  {"simjoin_weighted_cosine_similarity", Call::weighted, Measure::cosine},
                  {"simjoin_jaccard_distance", Call::distance, Measure::jaccard}};
  for (const auto &entry : measures) {
    if (name != entry.symbol) continue;
    *measure = entry.measure;
    call = entry.call;
  }
  pfree(symbol);
  return call;
}

// Returns the measure's call behind an implicit or explicit cast of overlap_count to double precision.
Node *strip_cast(Node *node) {
  node = strip_implicit_coercions(node);
  if (IsA(node, FuncExpr) && castNode(FuncExpr, node)->funcid == F_FLOAT8_INT4)
    return static_cast<Node *>(linitial(castNode(FuncExpr, node)->args));
  return node;
}

// Gives the sets of a call and, if it has them, their weights, in the order in which they are written.
void take_arguments(List *args, SimilarityClause *match) {
  const bool weighted = list_length(args) == 4;
  match->left = static_cast<Expr *>(linitial(args));
  match->right = static_cast<Expr *>(list_nth(args, weighted ? 2 : 1));
  match->left_weights = weighted ? static_cast<Expr *>(lsecond(args)) : nullptr;
  match->right_weights = weighted ? static_cast<Expr *>(lfourth(args)) : nullptr;
}

// Returns whether the weights of both sets are of the same relations as the sets, and can be computed once a
// row.
bool weights_of_same_sides(PlannerInfo *root, const SimilarityClause &match) {
  auto beside = [&](Expr *set, Expr *weights) {
    auto *node = reinterpret_cast<Node *>(weights);
    Relids relids = base_relids(root, weights);
    return !bms_is_empty(relids) && bms_is_subset(relids, base_relids(root, set)) &&
           !contain_volatile_functions(node) && !contain_subplans(node);
  };
  return !match.weighted() ||
         (beside(match.left, match.left_weights) && beside(match.right, match.right_weights));
}

// Returns whether a measure, a distance or `~=` is called anywhere in the expression.
bool calls_measure(Node *expr, void *context) {
  if (expr == nullptr) return false;
  Measure unused;
  const Oid function = called_function(expr);
  if (OidIsValid(function) && classify(function, &unused) != Call::none) return true;
  return compat::walk_children(expr, calls_measure, context);
}

// Returns whether the expression is a call of this kind, and notes the call and its measure.
bool match_call(Node *expr, Call kind, SimilarityClause *match) {
  expr = strip_cast(expr);
  const Oid function = called_function(expr);
  match->call = reinterpret_cast<Expr *>(expr);
  return OidIsValid(function) && classify(function, &match->measure) == kind;
}

// Returns whether the operator is a similarity clause. Gives its threshold and the arguments of its call.
bool parse_operator(OpExpr *op, SimilarityClause *match, List **arguments) {
  if (list_length(op->args) != 2) return false;
  Measure measure = Measure::jaccard;
  Node *greater, *lesser;
  const Comparison *comparison = parse_comparison(op, &greater, &lesser);
  if (comparison == nullptr) {
    match->from_settings = true;
    *arguments = op->args;
    return classify(op->opfuncid, &measure) == Call::similar;
  }
  match->strict = comparison->strict;
  if (exprType(lesser) == NUMERICOID) return false;  // which implied_clauses() looks at
  if (match_call(greater, Call::measure, match) || match_call(greater, Call::weighted, match)) {
    match->threshold = reinterpret_cast<Expr *>(lesser);
  } else if (match_call(lesser, Call::distance, match)) {
    match->distance = true;
    match->threshold = reinterpret_cast<Expr *>(greater);
  } else {
    return false;
  }
  *arguments = call_arguments(match->call);
  return true;
}

// Returns whether the clause is a similarity clause, whatever its sets and its threshold depend on.
bool parse_clause(RestrictInfo *rinfo, SimilarityClause *match, List **arguments) {
  *match = {};
  match->rinfo = rinfo;
  auto *clause = reinterpret_cast<Node *>(rinfo->clause);
  if (IsA(clause, OpExpr)) return parse_operator(castNode(OpExpr, clause), match, arguments);
  if (!IsA(clause, FuncExpr)) return false;
  auto *function = castNode(FuncExpr, clause);  // `~=` called by its function's name
  Measure unused;
  match->from_settings = true;
  *arguments = function->args;
  return list_length(function->args) == 2 && classify(function->funcid, &unused) == Call::similar;
}

}  // namespace

// False where a set mentions both sides or neither, or cannot be computed once a row.
bool assign_sides(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, List *args,
                  SimilarityClause *match) {
  take_arguments(args, match);
  Expr *first = match->left, *second = match->right;
  auto over = [&](Expr *expr, RelOptInfo *rel) {
    Relids relids = pull_varnos(root, reinterpret_cast<Node *>(expr));
    return !bms_is_empty(relids) && bms_is_subset(relids, rel->relids);
  };
  if (outer == nullptr) {
    Relids left = base_relids(root, first), right = base_relids(root, second);
    if (bms_is_empty(left) || bms_is_empty(right) || bms_overlap(left, right)) return false;
  } else if (over(first, inner) && over(second, outer)) {
    std::swap(match->left, match->right);
    std::swap(match->left_weights, match->right_weights);
    match->measure = reversed(match->measure);
  } else if (!over(first, outer) || !over(second, inner)) {
    return false;
  }
  auto once_per_row = [](Expr *expr) {
    auto *node = reinterpret_cast<Node *>(expr);
    return !contain_volatile_functions(node) && !contain_subplans(node);
  };
  return once_per_row(match->left) && once_per_row(match->right) && weights_of_same_sides(root, *match) &&
         token_type_of(exprType(reinterpret_cast<Node *>(match->left)), &match->token_type);
}

namespace {

// Returns whether the clause is one of the similarity clauses that can drive the join.
bool match_clause(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, RestrictInfo *rinfo,
                  SimilarityClause *match) {
  List *arguments;
  return parse_clause(rinfo, match, &arguments) &&
         (match->from_settings || same_for_all_pairs(root, reinterpret_cast<Node *>(match->threshold))) &&
         assign_sides(root, outer, inner, arguments, match);
}

}  // namespace

Oid called_function(Node *expr) {
  if (IsA(expr, FuncExpr)) return castNode(FuncExpr, expr)->funcid;
  if (!IsA(expr, OpExpr)) return InvalidOid;
  set_opfuncid(castNode(OpExpr, expr));
  return castNode(OpExpr, expr)->opfuncid;
}

bool describe_order(Node *expr, Node **greater, Node **lesser, bool *strict) {
  if (!IsA(expr, OpExpr)) return false;
  const Comparison *comparison = parse_comparison(castNode(OpExpr, expr), greater, lesser);
  if (comparison != nullptr && strict != nullptr) *strict = comparison->strict;
  return comparison != nullptr;
}

bool describe_equality(Node *expr, Node **first, Node **second) {
  switch (called_function(expr)) {
    case F_FLOAT8EQ:
    case F_FLOAT4EQ:
    case F_FLOAT84EQ:
    case F_FLOAT48EQ:
    case F_NUMERIC_EQ:
    case F_INT4EQ:
    case F_INT42EQ:
    case F_INT24EQ:
    case F_INT48EQ:
    case F_INT84EQ:
      *first = static_cast<Node *>(linitial(call_arguments(reinterpret_cast<Expr *>(expr))));
      *second = static_cast<Node *>(lsecond(call_arguments(reinterpret_cast<Expr *>(expr))));
      return true;
    default:
      return false;
  }
}

bool same_for_all_pairs(PlannerInfo *root, Node *expr) {
  return bms_is_empty(pull_varnos(root, expr)) && !contain_volatile_functions(expr) &&
         !contain_subplans(expr);
}

Relids base_relids(PlannerInfo *root, Expr *expr) {
  return compat::without_outer_joins(root, pull_varnos(root, reinterpret_cast<Node *>(expr)));
}

List *call_arguments(Expr *call) {
  return IsA(call, FuncExpr) ? castNode(FuncExpr, call)->args : castNode(OpExpr, call)->args;
}

double constant_threshold(const SimilarityClause &match) {
  if (match.threshold == nullptr || !IsA(match.threshold, Const)) return 0;
  auto *constant = reinterpret_cast<Const *>(match.threshold);
  if (constant->constisnull) return 0;
  const double value = threshold_value(constant->constvalue, constant->consttype);
  if (match.distance) return similarity_at_distance(value, match.strict);
  return match.strict ? next_above(value) : value;
}

bool describe_similarity_clause(PlannerInfo *root, RestrictInfo *rinfo, SimilarityClause *match) {
  return match_clause(root, nullptr, nullptr, rinfo, match);
}

bool describe_search_clause(RestrictInfo *rinfo, SimilarityClause *match) {
  List *arguments;
  if (!parse_clause(rinfo, match, &arguments)) return false;
  take_arguments(arguments, match);
  return !match->weighted() &&
         token_type_of(exprType(reinterpret_cast<Node *>(match->left)), &match->token_type);
}

bool is_similarity_clause(RestrictInfo *rinfo) {
  SimilarityClause match;
  List *arguments;
  return parse_clause(rinfo, &match, &arguments) &&
         !calls_measure(reinterpret_cast<Node *>(match.threshold), nullptr);
}

bool describe_comparison(OpExpr *op, SimilarityClause *match) {
  *match = {};
  List *arguments;
  if (!parse_operator(op, match, &arguments) || match->from_settings) return false;
  take_arguments(arguments, match);
  return true;
}

bool describe_call(Node *expr, SimilarityClause *match) {
  match->distance = match_call(expr, Call::distance, match);
  if (!match->distance && !match_call(expr, Call::measure, match)) return false;
  take_arguments(call_arguments(match->call), match);
  return true;
}

bool describe_weighted_call(Node *expr, SimilarityClause *match) {
  match->distance = false;
  if (!match_call(expr, Call::weighted, match)) return false;
  take_arguments(call_arguments(match->call), match);
  return true;
}

bool is_query_similarity(Node *expr) {
  const Oid function = called_function(expr);
  char *symbol = OidIsValid(function) ? bound_symbol(function) : nullptr;
  return symbol != nullptr && std::string_view(symbol) == "simjoin_query_similarity";
}

bool describe_distance(Node *expr, Expr **left, Expr **right) {
  SimilarityClause match = {};
  if (!describe_call(expr, &match) || !match.distance) return false;
  *left = match.left;
  *right = match.right;
  return true;
}

// As in hash joins, a clause from above an outer join does not.
bool decides_match(RestrictInfo *rinfo, RelOptInfo *joinrel, JoinType jointype) {
  return !(IS_OUTER_JOIN(jointype) && RINFO_IS_PUSHED_DOWN(rinfo, joinrel->relids));
}

List *find_similarity_clauses(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                              JoinType jointype, List *restrictlist) {
  List *found = NIL;
  ListCell *cell;
  Index lowest_security_level = PG_UINT32_MAX;
  foreach (cell, restrictlist)
    lowest_security_level = Min(lowest_security_level, lfirst_node(RestrictInfo, cell)->security_level);
  foreach (cell, restrictlist) {
    auto *rinfo = lfirst_node(RestrictInfo, cell);
    if (!decides_match(rinfo, joinrel, jointype)) continue;
    // A clause that may leak must not run before those of a security barrier beneath it.
    if (rinfo->security_level > lowest_security_level && !rinfo->leakproof) continue;
    SimilarityClause clause;
    if (match_clause(root, outer, inner, rinfo, &clause)) {
      // Where every pair qualifies, a nested loop does as well, but a full join cannot be one.
      if (jointype != JOIN_FULL && clause.threshold != nullptr && IsA(clause.threshold, Const) &&
          constant_threshold(clause) <= 0)
        continue;
      auto *kept = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
      *kept = clause;
      found = lappend(found, kept);
    } else {
      ListCell *implied;
      foreach (implied, implied_clauses(root, rinfo)) {
        auto *kept = static_cast<SimilarityClause *>(lfirst(implied));
        if (assign_sides(root, outer, inner, call_arguments(kept->call), kept)) found = lappend(found, kept);
      }
    }
  }
  return found;
}

void check_full_join(RelOptInfo *joinrel, RelOptInfo *inner, SpecialJoinInfo *sjinfo, List *restrictlist) {
  // The two relations come in both orders: the second time the left one is the inner relation.
  if (joinrel->pathlist != NIL || !bms_is_subset(sjinfo->min_lefthand, inner->relids)) return;
  ListCell *cell;
  bool similarity = false;
  foreach (cell, restrictlist)
    similarity |= calls_measure(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause), nullptr);
  if (!similarity) return;
  ereport(
      ERROR,
      (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
       errmsg("FULL JOIN is only supported with merge-joinable or hash-joinable join conditions"),
       errdetail("No condition of it is a similarity clause that the join operator can use."),
       errhint(
           "Write the clause as jaccard_similarity(l, r) >= t, l <%%> r <= d or l ~= r, with a set of one "
           "side of the join as l, one of the other side as r, and the same t or d for all rows. Other "
           "measures and > are possible too. Or use LEFT JOIN, and add the missing rows with NOT EXISTS.")));
}

}  // namespace simjoin::pg
