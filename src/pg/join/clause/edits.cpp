#include "pg/join/clause/edits.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "core/text/edit_keys.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/join/clause/expressions.hpp"
#include "pg/join/clause/sums.hpp"

namespace simjoin::pg {
namespace {

constexpr char levenshtein_library[] = "fuzzystrmatch";

// A C function that computes an edit distance. Its arguments are two texts, then the costs of an insertion, a
// deletion and a replacement if it has them, then the greatest distance that it tells from others if it has
// it.
struct EditFunction {
  std::string_view symbol;
  bool costs;
  bool most;
};
constexpr EditFunction own_functions[] = {{"simjoin_edit_distance", false, false},
                                          {"simjoin_edit_distance_up_to", false, true},
                                          {"simjoin_damerau_distance", false, false},
                                          {"simjoin_damerau_distance_up_to", false, true}};
constexpr EditFunction levenshtein_functions[] = {{"levenshtein", false, false},
                                                  {"levenshtein_with_costs", true, false},
                                                  {"levenshtein_less_equal", false, true},
                                                  {"levenshtein_less_equal_with_costs", true, true}};

// With costs of up to this, the distances that most_edits allows have six digits, which every cast keeps.
// Larger distances stay larger.
constexpr double most_cost = 999'999.0 / (most_edits + 1);

// A call of one of them.
struct EditCall {
  const EditFunction *function;
  bool levenshtein;  // which refuses long texts
  List *arguments;
};

bool describe_edit_call(Node *expr, EditCall *call) {
  if (!IsA(expr, FuncExpr) || exprType(expr) != INT4OID) return false;
  auto *function = castNode(FuncExpr, expr);
  call->arguments = function->args;
  call->function = entry_of_symbol(own_functions, bound_symbol(function->funcid));
  call->levenshtein = call->function == nullptr;
  if (call->levenshtein)
    call->function =
        entry_of_symbol(levenshtein_functions, symbol_of_library(function->funcid, levenshtein_library));
  return call->function != nullptr &&
         list_length(call->arguments) == 2 + (call->function->costs ? 3 : 0) + (call->function->most ? 1 : 0);
}

// Gives the least cost of an edit. Returns false if a cost is unusual or no constant.
bool least_cost(const EditCall &call, double *least) {
  *least = 1;
  for (int i = 2; call.function->costs && i < 5; ++i) {
    double cost;
    if (!constant_value(static_cast<Node *>(list_nth(call.arguments, i)), &cost) || cost < 1 ||
        cost > most_cost)
      return false;
    *least = i == 2 ? cost : std::fmin(*least, cost);
  }
  return true;
}

// Returns whether the call tells distances that are within the bound, `within` if that is a constant, from
// others. One with a greatest distance gives some number above it for all that are beyond. A negative one is
// none.
bool tells_within(const EditCall &call, Node *bound, const double *within) {
  if (!call.function->most) return true;
  auto *most = static_cast<Node *>(llast(call.arguments));
  double value;
  if (constant_value(most, &value)) return value < 0 || (within != nullptr && *within <= value);
  return equal(most, bound);
}

// Returns a parameter as a number of edits, NULL if it is no integer. Beyond most_edits, all are alike.
Expr *as_number_of_edits(Node *parameter) {
  auto *number = reinterpret_cast<Expr *>(parameter);
  auto limit = [](int64 value) {
    return reinterpret_cast<Expr *>(
        makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(value), false, FLOAT8PASSBYVAL));
  };
  switch (exprType(parameter)) {
    case INT2OID:
      return call_function(F_INT4_INT2, INT4OID, list_make1(number), InvalidOid);
    case INT4OID:
      return number;
    case INT8OID:
      number = extreme_of(IS_GREATEST, extreme_of(IS_LEAST, number, limit(most_edits + 1), INT8OID),
                          limit(-1), INT8OID);
      return call_function(F_INT4_INT8, INT4OID, list_make1(number), InvalidOid);
    default:
      return nullptr;
  }
}

// Gives the value of a constant that the bound is never above: itself, or the least of the constants in
// LEAST. Returns false where there is none.
bool most_of_bound(Node *bound, double *most) {
  if (constant_value(bound, most)) return true;
  if (!IsA(bound, MinMaxExpr) || castNode(MinMaxExpr, bound)->op != IS_LEAST) return false;
  bool found = false;
  ListCell *cell;
  foreach (cell, castNode(MinMaxExpr, bound)->args) {
    double value;
    if (!constant_value(static_cast<Node *>(lfirst(cell)), &value)) continue;
    *most = found ? std::fmin(*most, value) : value;
    found = true;
  }
  return found;
}

// Returns an expression of the number of edits within the bound, NULL where the planner cannot know it or no
// join pays.
Expr *edits_within(const EditCall &call, Node *bound, bool strict) {
  double value, cost;
  if (!least_cost(call, &cost)) return nullptr;
  if (most_of_bound(bound, &value)) {
    // A numeric may be a little more than its value in double precision.
    const bool exact = exprType(bound) != NUMERICOID;
    const double within = strict && exact ? std::ceil(value) - 1 : std::floor(value);
    const double edits = std::fmax(std::floor(within / cost), -1);
    if (edits > most_edits || !tells_within(call, bound, &within)) return nullptr;
    return reinterpret_cast<Expr *>(makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
                                              Int32GetDatum(static_cast<int32>(edits)), false, true));
  }
  const bool parameter = IsA(bound, Param) && castNode(Param, bound)->paramkind == PARAM_EXTERN;
  if (!parameter || cost != 1 || !tells_within(call, bound, nullptr)) return nullptr;
  return as_number_of_edits(bound);
}

// The functions that make and compare keys.
struct KeyFunctions {
  Oid keys;
  Oid measure;
};

bool find_key_functions(bool levenshtein, bool by_similarity, KeyFunctions *functions) {
  const Oid schema = extension_schema("simjoin");
  const char *number_keys = levenshtein ? "levenshtein_keys" : "edit_keys";
  const char *similarity_keys = levenshtein ? "levenshtein_similarity_keys" : "edit_similarity_keys";
  const char *name = by_similarity ? similarity_keys : number_keys;
  if (!OidIsValid(schema)) return false;
  const Oid bound = by_similarity ? FLOAT8OID : INT4OID;
  functions->keys = find_function(schema, name, {TEXTOID, bound}, INT4ARRAYOID);
  functions->measure =
      find_function(schema, measure_function(Measure::overlap), {INT4ARRAYOID, INT4ARRAYOID}, INT4OID);
  return OidIsValid(functions->keys) && OidIsValid(functions->measure);
}

// Describes the call of overlap_count on the keys of two texts for a number of edits or a similarity.
void describe_keys(const KeyFunctions &functions, void *first, void *second, Expr *bound,
                   SimilarityClause *keys) {
  auto keys_of = [&](void *text) {
    return call_function(functions.keys, INT4ARRAYOID, list_make2(text, bound),
                         exprCollation(static_cast<Node *>(text)));
  };
  *keys = {};
  keys->of_edits = true;
  keys->measure = Measure::overlap;
  keys->left = keys_of(first);
  keys->right = keys_of(second);
  keys->call = call_function(functions.measure, INT4OID, list_make2(keys->left, keys->right), InvalidOid);
}

// Returns the expression below casts and, as in `distance * 1.0`, a factor of 1.
Node *without_unit_factor(Node *expr) {
  expr = without_cast(expr);
  const Oid function = called_function(expr);
  if (function != F_FLOAT8MUL && function != F_NUMERIC_MUL) return expr;
  List *factors = call_arguments(reinterpret_cast<Expr *>(expr));
  auto *first = static_cast<Node *>(linitial(factors)), *second = static_cast<Node *>(lsecond(factors));
  double value;
  if (constant_value(second, &value) && value == 1) return without_cast(first);
  return constant_value(first, &value) && value == 1 ? without_cast(second) : expr;
}

// Returns whether the expression is the number of characters of one of the texts, and says of which.
bool is_length_of(Node *expr, List *texts, bool *found) {
  const Oid function = called_function(expr);
  if (function != F_LENGTH_TEXT && function != F_CHAR_LENGTH_TEXT && function != F_CHARACTER_LENGTH_TEXT)
    return false;
  auto *text = static_cast<Node *>(linitial(call_arguments(reinterpret_cast<Expr *>(expr))));
  bool any = false;
  for (int i = 0; i < 2; ++i) {
    if (!equal(text, list_nth(texts, i))) continue;
    found[i] = any = true;
  }
  return any;
}

// Returns whether the number is that of the characters of a constant text, and says of which.
bool is_length_of_constant(double number, List *texts, bool *found) {
  bool any = false;
  for (int i = 0; i < 2; ++i) {
    auto *text = static_cast<Node *>(list_nth(texts, i));
    if (!IsA(text, Const) || castNode(Const, text)->constisnull) continue;
    if (DatumGetInt32(DirectFunctionCall1(textlen, castNode(Const, text)->constvalue)) != number) continue;
    found[i] = any = true;
  }
  return any;
}

// Returns whether the expression is the length of the longer text, or NULL. Constants of up to 1 may stand
// beside the lengths: they count where both texts are empty. `most` is the greatest of them, `null_if`
// the expression that may be NULL.
bool is_longer_length(Node *expr, List *texts, double *most, NullIfExpr **null_if) {
  expr = without_cast(expr);
  *most = 0;
  *null_if = nullptr;
  if (IsA(expr, NullIfExpr)) {
    *null_if = castNode(NullIfExpr, expr);
    expr = without_cast(static_cast<Node *>(linitial((*null_if)->args)));
  }
  if (!IsA(expr, MinMaxExpr) || castNode(MinMaxExpr, expr)->op != IS_GREATEST) return false;
  bool found[2] = {};
  ListCell *cell;
  foreach (cell, castNode(MinMaxExpr, expr)->args) {
    Node *argument = without_cast(static_cast<Node *>(lfirst(cell)));
    double value;
    if (is_length_of(argument, texts, found)) continue;
    if (!constant_value(argument, &value)) return false;
    if (!is_length_of_constant(value, texts, found) && value > 1) return false;
    *most = std::fmax(*most, value);
  }
  return found[0] && found[1];
}

// Returns whether the expression is NULL for 0 alone: its operator need not be that of PostgreSQL.
bool is_null_at_zero(const NullIfExpr *expr) {
  double value;
  if (!constant_value(static_cast<Node *>(lsecond(expr->args)), &value) || value != 0) return false;
  switch (get_opcode(expr->opno)) {
    case F_INT4EQ:
    case F_INT8EQ:
    case F_INT48EQ:
    case F_INT84EQ:
    case F_FLOAT4EQ:
    case F_FLOAT8EQ:
    case F_NUMERIC_EQ:
      return true;
    default:
      return false;
  }
}

// Returns whether the expression is an edit distance without costs divided by the length of the longer text,
// and describes its call and that length.
bool describe_share(Node *expr, EditCall *call, double *most, NullIfExpr **null_if) {
  switch (called_function(expr)) {
    case F_FLOAT8DIV:
    case F_FLOAT4DIV:
    case F_FLOAT48DIV:
    case F_FLOAT84DIV:
    case F_NUMERIC_DIV:
      break;
    default:
      return false;
  }
  List *sides = call_arguments(reinterpret_cast<Expr *>(expr));
  return describe_edit_call(without_unit_factor(static_cast<Node *>(linitial(sides))), call) &&
         !call->function->costs && !call->function->most &&
         is_longer_length(static_cast<Node *>(lsecond(sides)), call->arguments, most, null_if);
}

// Appends the distances that the expression is a sum of. Returns false for other expressions, and where a
// distance may be negative.
bool add_distances(Node *expr, List **calls) {
  check_stack_depth();
  expr = without_cast(expr);
  if (called_function(expr) == F_INT4PL) {
    List *sides = call_arguments(reinterpret_cast<Expr *>(expr));
    return add_distances(static_cast<Node *>(linitial(sides)), calls) &&
           add_distances(static_cast<Node *>(lsecond(sides)), calls);
  }
  auto *call = static_cast<EditCall *>(palloc(sizeof(EditCall)));
  double cost;
  if (!describe_edit_call(expr, call) || !least_cost(*call, &cost)) return false;
  *calls = lappend(*calls, call);
  return true;
}

// Returns the calls of overlap_count on keys of texts within a distance of at most the bound, or less than it
// if `strict`. Each distance of a sum is within its bound.
List *keys_within(Node *distance, Node *bound, bool strict) {
  List *calls = NIL, *found = NIL;
  ListCell *cell;
  if (!add_distances(distance, &calls)) return NIL;
  foreach (cell, calls) {
    auto *call = static_cast<const EditCall *>(lfirst(cell));
    KeyFunctions functions;
    Expr *edits = edits_within(*call, bound, strict);
    if (edits == nullptr || !find_key_functions(call->levenshtein, false, &functions)) continue;
    auto *keys = static_cast<SimilarityClause *>(palloc(sizeof(SimilarityClause)));
    describe_keys(functions, linitial(call->arguments), lsecond(call->arguments), edits, keys);
    found = lappend(found, keys);
  }
  return found;
}

}  // namespace

bool is_edit_call(Node *expr) {
  EditCall call;
  return describe_edit_call(expr, &call);
}

List *keys_of_edit_condition(Node *condition) {
  Node *bound, *distance;
  bool strict;
  if (describe_order(condition, &bound, &distance, &strict)) return keys_within(distance, bound, strict);
  if (!describe_equality(condition, &bound, &distance)) return NIL;
  List *keys = keys_within(distance, bound, false);
  return keys == NIL ? keys_within(bound, distance, false) : keys;
}

bool describe_edit_measure(Node *expr, EditMeasure *measure) {
  EditCall call;
  *measure = {};
  if (!describe_edit_call(expr, &call)) {
    double most;
    NullIfExpr *null_if;
    if (!describe_share(expr, &call, &most, &null_if) || called_function(expr) == F_FLOAT4DIV) return false;
    if (null_if != nullptr && !is_null_at_zero(null_if)) return false;
    measure->share = true;
    measure->of_empty = most > 0             ? EditMeasure::EmptyTexts::zero
                        : null_if != nullptr ? EditMeasure::EmptyTexts::null
                                             : EditMeasure::EmptyTexts::error;
  }
  if (call.function->costs || call.function->most) return false;
  measure->first = static_cast<Expr *>(linitial(call.arguments));
  measure->second = static_cast<Expr *>(lsecond(call.arguments));
  measure->damerau = call.function->symbol.find("damerau") != std::string_view::npos;
  measure->levenshtein = call.levenshtein;
  return true;
}

bool describe_edit_share(Node *expr, SimilarityClause *keys) {
  EditCall call;
  KeyFunctions functions;
  double most;
  NullIfExpr *null_if;
  if (!describe_share(expr, &call, &most, &null_if) ||
      !find_key_functions(call.levenshtein, true, &functions))
    return false;
  describe_keys(functions, linitial(call.arguments), lsecond(call.arguments), number(1), keys);
  keys->distance = true;
  return true;
}

bool bound_edit_share(double similarity, SimilarityClause *keys) {
  if (similarity < least_edit_similarity) return false;
  auto *left = castNode(FuncExpr, keys->left), *right = castNode(FuncExpr, keys->right);
  const KeyFunctions functions = {left->funcid, castNode(FuncExpr, keys->call)->funcid};
  describe_keys(functions, linitial(left->args), linitial(right->args), number(similarity), keys);
  return true;
}

bool can_join_by_levenshtein(Oid schema) {
  const Oid function = find_function(schema, "levenshtein", {TEXTOID, TEXTOID}, INT4OID);
  KeyFunctions functions;
  return OidIsValid(function) &&
         entry_of_symbol(levenshtein_functions, symbol_of_library(function, levenshtein_library)) !=
             nullptr &&
         find_key_functions(true, false, &functions);
}

}  // namespace simjoin::pg
