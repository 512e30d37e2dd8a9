#include "pg/join/clause/sums.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
}

#include <cmath>
#include <limits>

#include "pg/join/clause/edits.hpp"
#include "pg/join/clause/trigrams.hpp"

namespace simjoin::pg {
namespace {

constexpr int32 most_digits = 300;

// What PostgreSQL computes from one number or two.
enum class Arithmetic { none, plus, minus, negative, times, divided, cast, absolute, round, truncate };

// A function: what it computes, and how exact its result is.
struct Operation {
  Oid function;
  Arithmetic arithmetic;
  double rounding;
};
constexpr Operation operations[] = {
    {F_FLOAT8PL, Arithmetic::plus, 0},
    {F_FLOAT48PL, Arithmetic::plus, 0},
    {F_FLOAT84PL, Arithmetic::plus, 0},
    {F_NUMERIC_ADD, Arithmetic::plus, 0},
    {F_FLOAT4PL, Arithmetic::plus, single_rounding},
    {F_FLOAT8MI, Arithmetic::minus, 0},
    {F_FLOAT48MI, Arithmetic::minus, 0},
    {F_FLOAT84MI, Arithmetic::minus, 0},
    {F_NUMERIC_SUB, Arithmetic::minus, 0},
    {F_FLOAT4MI, Arithmetic::minus, single_rounding},
    {F_FLOAT8UM, Arithmetic::negative, 0},
    {F_FLOAT4UM, Arithmetic::negative, 0},
    {F_NUMERIC_UMINUS, Arithmetic::negative, 0},
    {F_FLOAT8MUL, Arithmetic::times, 0},
    {F_FLOAT48MUL, Arithmetic::times, 0},
    {F_FLOAT84MUL, Arithmetic::times, 0},
    {F_NUMERIC_MUL, Arithmetic::times, 0},
    {F_FLOAT4MUL, Arithmetic::times, single_rounding},
    {F_FLOAT8DIV, Arithmetic::divided, 0},
    {F_FLOAT48DIV, Arithmetic::divided, 0},
    {F_FLOAT84DIV, Arithmetic::divided, 0},
    {F_NUMERIC_DIV, Arithmetic::divided, 0},
    {F_FLOAT4DIV, Arithmetic::divided, single_rounding},
    {F_FLOAT8_FLOAT4, Arithmetic::cast, 0},
    {F_FLOAT8_INT4, Arithmetic::cast, 0},
    {F_FLOAT4_INT4, Arithmetic::cast, single_rounding},
    {F_FLOAT4_FLOAT8, Arithmetic::cast, single_rounding},
    {F_NUMERIC_FLOAT8, Arithmetic::cast, 0},
    {F_NUMERIC_FLOAT4, Arithmetic::cast, digits_rounding},
    {F_NUMERIC_INT4, Arithmetic::cast, 0},
    {F_FLOAT8_NUMERIC, Arithmetic::cast, 0},
    {F_FLOAT4_NUMERIC, Arithmetic::cast, single_rounding},
    {F_ABS_FLOAT8, Arithmetic::absolute, 0},
    {F_ABS_FLOAT4, Arithmetic::absolute, 0},
    {F_ABS_NUMERIC, Arithmetic::absolute, 0},
    {F_ROUND_FLOAT8, Arithmetic::round, 0},
    {F_ROUND_NUMERIC_INT4, Arithmetic::round, 0},
    {F_FLOOR_FLOAT8, Arithmetic::truncate, 0},
    {F_FLOOR_NUMERIC, Arithmetic::truncate, 0},
    {F_CEIL_FLOAT8, Arithmetic::truncate, 0},
    {F_CEIL_NUMERIC, Arithmetic::truncate, 0},
    {F_TRUNC_FLOAT8, Arithmetic::truncate, 0},
    {F_TRUNC_NUMERIC_INT4, Arithmetic::truncate, 0},
};

const Operation *operation_of(Oid function) {
  for (const Operation &operation : operations)
    if (operation.function == function) return &operation;
  return nullptr;
}

// Returns the expression below changes of its type that keep the value. Casts are among the operations.
Node *same_value(Node *expr) {
  while (IsA(expr, RelabelType)) expr = reinterpret_cast<Node *>(castNode(RelabelType, expr)->arg);
  return expr;
}

bool add_term(const SimilarityClause &call, double factor, Sum *sum, JaroKind jaro = JaroKind::none,
              bool edits = false) {
  auto *kept = static_cast<Term *>(palloc(sizeof(Term)));
  *kept = {call, factor, jaro, edits};
  sum->size += std::fabs(factor);
  sum->terms = lappend(sum->terms, kept);
  return std::isfinite(sum->size);
}

bool add_constant(double value, Sum *sum) {
  sum->constant += value;
  sum->size += std::fabs(value);
  return std::isfinite(sum->size);
}

// Adds factor * call, which is of pg_trgm. Its similarity has single precision.
bool add_trigram_call(const TrigramCall &call, double factor, Sum *sum) {
  sum->rounding += single_rounding;
  if (call.result == TrigramResult::reaches_setting) return false;
  if (call.result == TrigramResult::similarity) return add_term(call.sets, factor, sum);
  return add_constant(factor, sum) && add_term(call.sets, -factor, sum);
}

// Returns whether the expression is a similarity or a distance alone, which is never below 0.
bool is_similarity(Node *expr) {
  SimilarityClause call = {};
  TrigramCall trigrams;
  expr = without_cast(expr);
  return describe_call(expr, &call) || describe_trigram_call(expr, &trigrams) ||
         describe_jaro_call(expr, &call) != JaroKind::none || describe_edit_share(expr, &call);
}

// Gives one unit of the digit that a number is rounded to. The second argument of the call, if it has one, is
// the number of digits. Returns false if that is no usual constant.
bool last_digit(List *arguments, double *unit) {
  *unit = 1;
  if (list_length(arguments) < 2) return true;
  auto *digits = static_cast<Const *>(lsecond(arguments));
  if (!IsA(digits, Const) || digits->constisnull) return false;
  const int32 count = DatumGetInt32(digits->constvalue);
  if (count < -most_digits || count > most_digits) return false;
  *unit = std::pow(10.0, -count);
  return true;
}

// Adds factor * the result of the operation on the arguments.
bool add_operation(const Operation &operation, List *arguments, double factor, Sum *sum) {
  auto *first = static_cast<Node *>(linitial(arguments)), *last = static_cast<Node *>(llast(arguments));
  double value;
  sum->rounding += operation.rounding;
  switch (operation.arithmetic) {
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
    case Arithmetic::cast:
      return add_to_sum(first, factor, sum);
    case Arithmetic::absolute:
      return is_similarity(first) && add_to_sum(first, factor, sum);
    case Arithmetic::round:
    case Arithmetic::truncate:
      if (!last_digit(arguments, &value)) return false;
      sum->error += std::fabs(factor) * (operation.arithmetic == Arithmetic::round ? value / 2 : value);
      return std::isfinite(sum->error) && add_to_sum(first, factor, sum);
    default:
      return false;
  }
}

}  // namespace

double Term::most() const {
  return call.measure == Measure::overlap && !call.distance ? std::numeric_limits<double>::infinity() : 1;
}

double Term::weight() const {
  return std::fabs(factor);
}

bool describe_difference(Node *greater, Node *lesser, Sum *sum) {
  *sum = {};
  sum->rounding = double_rounding;
  return add_to_sum(greater, 1, sum) && add_to_sum(lesser, -1, sum);
}

double needed_gain(const Sum &sum) {
  double gain = -sum.constant - sum.error;
  ListCell *cell;
  foreach (cell, sum.terms) {
    auto *term = static_cast<const Term *>(lfirst(cell));
    if (term->call.distance) gain -= term->factor;
  }
  return gain;
}

bool constant_value(Node *expr, double *value) {
  expr = same_value(expr);
  if (!IsA(expr, Const) || castNode(Const, expr)->constisnull) return false;
  const Datum datum = castNode(Const, expr)->constvalue;
  switch (castNode(Const, expr)->consttype) {
    case FLOAT8OID:
      *value = DatumGetFloat8(datum);
      break;
    case FLOAT4OID:
      *value = DatumGetFloat4(datum);
      break;
    case INT2OID:
      *value = DatumGetInt16(datum);
      break;
    case INT4OID:
      *value = DatumGetInt32(datum);
      break;
    case INT8OID:
      *value = static_cast<double>(DatumGetInt64(datum));
      break;
    case NUMERICOID:
      *value = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, datum));
      break;
    default:
      return false;
  }
  return std::isfinite(*value);
}

Node *without_cast(Node *expr) {
  for (;;) {
    expr = same_value(expr);
    if (!IsA(expr, FuncExpr)) return expr;
    const Operation *operation = operation_of(castNode(FuncExpr, expr)->funcid);
    if (operation == nullptr || operation->arithmetic != Arithmetic::cast) return expr;
    expr = static_cast<Node *>(linitial(castNode(FuncExpr, expr)->args));
  }
}

bool add_to_sum(Node *expr, double factor, Sum *sum) {
  check_stack_depth();
  expr = same_value(expr);
  double value;
  if (constant_value(expr, &value)) return add_constant(factor * value, sum);
  SimilarityClause call = {};
  if (describe_call(expr, &call)) return add_term(call, factor, sum);
  const JaroKind jaro = describe_jaro_call(expr, &call);
  if (jaro != JaroKind::none) return add_term(call, factor, sum, jaro);
  if (describe_edit_share(expr, &call)) {
    sum->rounding += digits_rounding;
    return add_term(call, factor, sum, JaroKind::none, true);
  }
  TrigramCall trigrams;
  if (describe_trigram_call(expr, &trigrams)) return add_trigram_call(trigrams, factor, sum);
  const Oid function = called_function(expr);
  const Operation *operation = OidIsValid(function) ? operation_of(function) : nullptr;
  return operation != nullptr &&
         add_operation(*operation, call_arguments(reinterpret_cast<Expr *>(expr)), factor, sum);
}

}  // namespace simjoin::pg
