#include "pg/index/set_query.hpp"

extern "C" {
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
}

#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/settings.hpp"
#include "pg/join/clause/threshold.hpp"
#include "pg/join/clause/threshold_warning.hpp"
#include "pg/sets/set_counts.hpp"

namespace simjoin::pg {
namespace {

constexpr std::string_view distance_name = "jaccard_distance";

// The value of a similarity_query. The array follows, detoasted.
struct StoredQuery {
  int32 length;  // as of all varlenas
  uint8 measure;
  bool distance;
  uint16 unused;
  double threshold;
};
static_assert(sizeof(StoredQuery) == MAXALIGN(sizeof(StoredQuery)));

// The binary form begins with a byte for its version. Measure, kind of threshold and type of tokens follow in
// a byte each, then the threshold, and the array in its binary form.
constexpr int binary_version = 1;

// The types of sets in the text form, in the order of TokenType.
constexpr const char *type_names[] = {"integer[]", "bigint[]", "text[]"};

bool token_type_by_name(const char *name, TokenType *type) {
  for (size_t i = 0; i < std::size(type_names); ++i) {
    if (std::strcmp(name, type_names[i]) != 0) continue;
    *type = static_cast<TokenType>(i);
    return true;
  }
  return false;
}

const char *relation_of(bool distance) {
  return distance ? "<=" : ">=";
}

[[noreturn]] void raise_malformed(const char *text) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                  errmsg("invalid input syntax for type similarity_query: \"%s\"", text),
                  errhint("The form is that of jaccard >= 0.8: integer[] {1,2,3}. Or make it as in "
                          "similarity_query('{1,2,3}'::integer[], 0.8).")));
  pg_unreachable();
}

// Errors if no two sets can reach the threshold of the query, or if it is no similarity or distance. All sets
// reach a similarity of 0.
void check_query_threshold(const char *function, Measure measure, bool distance, double threshold) {
  if (!distance) return check_similarity(threshold, measure, function, "threshold", true);
  if (threshold >= 0 && threshold <= 1) return;
  raise_argument(function, "threshold", threshold,
                 "With the measure jaccard_distance it is a number of at least 0 and at most 1.");
}

Datum make_set_query(Datum array, const char *function, Measure measure, bool distance, double threshold) {
  const SetView set = view_set(array, function);
  const Size bytes = sizeof(StoredQuery) + VARSIZE(set.array);
  auto *stored = static_cast<StoredQuery *>(palloc0(bytes));
  SET_VARSIZE(stored, bytes);
  stored->measure = static_cast<uint8>(measure);
  stored->distance = distance;
  stored->threshold = threshold;
  std::memcpy(stored + 1, set.array, VARSIZE(set.array));
  free_view(set, array);
  return PointerGetDatum(stored);
}

// The two sets of a call, and what they share.
struct QueriedSets {
  SetQuery query;
  SetCounts counts;

  double similarity() const {
    return simjoin::similarity(query.measure, counts.overlap, counts.right, counts.left);
  }
};

QueriedSets compare_with_query(FunctionCallInfo fcinfo, const char *function) {
  const Datum array = PG_GETARG_DATUM(0);
  const SetView set = view_set(array, function);
  const SetQuery query = read_set_query(PG_GETARG_DATUM(1));
  if (query.set.type != set.type)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("%s: the sets differ in type", function),
                    errhint("Give similarity_query() a set of the type that the other set has.")));
  const SetCounts counts = count_sets(set, query.set);
  free_view(set, array);
  return {query, counts};
}

// Returns whether the planner has seen the value of the argument of a call in a plan.
bool is_known_argument(FunctionCallInfo fcinfo, int number) {
  auto *call = reinterpret_cast<FuncExpr *>(fcinfo->flinfo->fn_expr);
  return call != nullptr && IsA(call, FuncExpr) &&
         is_known_threshold(static_cast<Expr *>(list_nth(call->args, number)));
}

}  // namespace

Datum make_similarity_query(Datum array, Measure measure, double threshold) {
  return make_set_query(array, "similarity_query", measure, false, threshold);
}

Datum make_distance_query(Datum array, double distance) {
  return make_set_query(array, "similarity_query", Measure::jaccard, true, distance);
}

SetQuery read_set_query(Datum value) {
  const auto *stored = reinterpret_cast<const StoredQuery *>(PG_DETOAST_DATUM(value));
  return {static_cast<Measure>(stored->measure), stored->distance, stored->threshold,
          view_set(PointerGetDatum(stored + 1), "similarity_query")};
}

double least_similarity(const SetQuery &query) {
  return query.distance ? similarity_at_distance(query.threshold, false) : query.threshold;
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_query);
Datum simjoin_similarity_query(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_query";
  const char *name = string_argument(fcinfo, 2);
  const bool distance = name == distance_name;
  const Measure measure = distance ? Measure::jaccard : index_measure_by_name(name, function);
  check_query_threshold(function, measure, distance, PG_GETARG_FLOAT8(1));
  return make_set_query(PG_GETARG_DATUM(0), function, measure, distance, PG_GETARG_FLOAT8(1));
}

// As similarity_query(), for a condition of a statement, whose threshold may be anything. Where no set
// satisfies the condition, the query is NULL.
PG_FUNCTION_INFO_V1(simjoin_similarity_query_of_clause);
Datum simjoin_similarity_query_of_clause(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_query";  // which users know
  if (PG_ARGISNULL(0) || PG_ARGISNULL(2)) PG_RETURN_NULL();
  const char *name = string_argument(fcinfo, 2);
  const bool distance = name == distance_name;
  const Measure measure = distance ? Measure::jaccard : index_measure_by_name(name, function);
  const double threshold = PG_ARGISNULL(1) ? 0 : PG_GETARG_FLOAT8(1);
  const Bounded condition = {distance ? "jaccard_distance" : measure_function(measure), measure, distance,
                             false};
  if (!is_known_argument(fcinfo, 1)) warn_of_threshold(condition, PG_ARGISNULL(1) ? nullptr : &threshold);
  if (PG_ARGISNULL(1) || !is_satisfiable(condition, threshold)) PG_RETURN_NULL();
  const double within = distance ? float8_min(threshold, 1.0) : float8_max(threshold, 0.0);
  return make_set_query(PG_GETARG_DATUM(0), function, measure, distance, within);
}

PG_FUNCTION_INFO_V1(simjoin_similarity_query_of_settings);
Datum simjoin_similarity_query_of_settings(PG_FUNCTION_ARGS) {
  const Settings::OfOperator by = Settings::of_operator();
  return make_set_query(PG_GETARG_DATUM(0), "similarity_query", by.measure, false, by.threshold);
}

PG_FUNCTION_INFO_V1(simjoin_set_satisfies);
Datum simjoin_set_satisfies(PG_FUNCTION_ARGS) {
  const QueriedSets sets = compare_with_query(fcinfo, "sets_similar");
  const SetCounts &counts = sets.counts;
  if (sets.query.distance)
    PG_RETURN_BOOL(within_distance(jaccard_distance(counts.overlap, counts.left, counts.right),
                                   sets.query.threshold, false));
  PG_RETURN_BOOL(float8_ge(sets.similarity(), sets.query.threshold));
}

PG_FUNCTION_INFO_V1(simjoin_query_similarity);
Datum simjoin_query_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(compare_with_query(fcinfo, "query_similarity").similarity());
}

PG_FUNCTION_INFO_V1(simjoin_similarity_query_in);
Datum simjoin_similarity_query_in(PG_FUNCTION_ARGS) {
  const char *text = PG_GETARG_CSTRING(0);
  char name[32], relation[3], threshold[32], type[16];
  int array_begin = 0;
  if (std::sscanf(text, "%31s %2s %31[^:]: %15s %n", name, relation, threshold, type, &array_begin) < 4 ||
      array_begin == 0)
    raise_malformed(text);
  const bool distance = name == distance_name;
  TokenType token_type;
  if (std::strcmp(relation, relation_of(distance)) != 0 || !token_type_by_name(type, &token_type))
    raise_malformed(text);
  const Measure measure = distance ? Measure::jaccard : index_measure_by_name(name, "similarity_query");
  const double value = DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(threshold)));
  check_query_threshold("similarity_query", measure, distance, value);
  Oid input, element;
  getTypeInputInfo(array_type_of(token_type), &input, &element);
  const Datum array = OidInputFunctionCall(input, pstrdup(text + array_begin), element, -1);
  return make_set_query(array, "similarity_query", measure, distance, value);
}

PG_FUNCTION_INFO_V1(simjoin_similarity_query_recv);
Datum simjoin_similarity_query_recv(PG_FUNCTION_ARGS) {
  auto *buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const int version = pq_getmsgbyte(buffer), measure = pq_getmsgbyte(buffer);
  const int distance = pq_getmsgbyte(buffer), type = pq_getmsgbyte(buffer);
  const double threshold = pq_getmsgfloat8(buffer);
  if (version != binary_version || measure >= static_cast<int>(std::size(measure_names)) || distance > 1 ||
      (distance == 1 && static_cast<Measure>(measure) != Measure::jaccard) ||
      type >= static_cast<int>(std::size(type_names)))
    ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                    errmsg("similarity_query: the bytes are not a query"),
                    errhint("Only bytes that the type's send function has written are.")));
  check_query_threshold("similarity_query", static_cast<Measure>(measure), distance == 1, threshold);
  Oid receive, element;
  getTypeBinaryInputInfo(array_type_of(static_cast<TokenType>(type)), &receive, &element);
  const Datum array = OidReceiveFunctionCall(receive, buffer, element, -1);
  return make_set_query(array, "similarity_query", static_cast<Measure>(measure), distance == 1, threshold);
}

PG_FUNCTION_INFO_V1(simjoin_similarity_query_send);
Datum simjoin_similarity_query_send(PG_FUNCTION_ARGS) {
  const SetQuery query = read_set_query(PG_GETARG_DATUM(0));
  Oid send;
  bool varlena;
  getTypeBinaryOutputInfo(array_type_of(query.set.type), &send, &varlena);
  bytea *array = OidSendFunctionCall(send, PointerGetDatum(query.set.array));
  StringInfoData buffer;
  pq_begintypsend(&buffer);
  for (const int byte : {binary_version, static_cast<int>(query.measure), static_cast<int>(query.distance),
                         static_cast<int>(query.set.type)})
    pq_sendbyte(&buffer, static_cast<uint8>(byte));
  pq_sendfloat8(&buffer, query.threshold);
  pq_sendbytes(&buffer, VARDATA(array), static_cast<int>(VARSIZE(array) - VARHDRSZ));
  PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

PG_FUNCTION_INFO_V1(simjoin_similarity_query_out);
Datum simjoin_similarity_query_out(PG_FUNCTION_ARGS) {
  const SetQuery query = read_set_query(PG_GETARG_DATUM(0));
  const std::string_view name =
      query.distance ? distance_name : measure_names[static_cast<int>(query.measure)];
  Oid output;
  bool varlena;
  getTypeOutputInfo(array_type_of(query.set.type), &output, &varlena);
  auto *array = const_cast<ArrayType *>(query.set.array);
  char *threshold = DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(query.threshold)));
  PG_RETURN_CSTRING(psprintf(
      "%.*s %s %s: %s %s", static_cast<int>(name.size()), name.data(), relation_of(query.distance), threshold,
      type_names[static_cast<int>(query.set.type)], OidOutputFunctionCall(output, PointerGetDatum(array))));
}
}

}  // namespace simjoin::pg
