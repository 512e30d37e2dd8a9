// The similarity measures as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <cstring>

#include "core/measure.hpp"
#include "pg/base/settings.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/set_counts.hpp"
#include "pg/sets/tokenizers.hpp"

namespace simjoin::pg {
namespace {

SetCounts count_arrays(Datum left_array, Datum right_array, const char *function) {
  const SetView left = view_set(left_array, function), right = view_set(right_array, function);
  if (left.type != right.type) elog(ERROR, "%s: the sets differ in type", function);
  const SetCounts counts = count_sets(left, right);
  free_view(left, left_array);
  free_view(right, right_array);
  return counts;
}

// Returns the figures of the call's first two arguments: sets, or, with a tokenizer as the third one, texts.
// `function` is its SQL name. The planner mostly makes calls with sets of those with texts.
SetCounts count_arguments(FunctionCallInfo fcinfo, const char *function) {
  const Datum left = PG_GETARG_DATUM(0), right = PG_GETARG_DATUM(1);
  if (PG_NARGS() == 2) return count_arrays(left, right, function);
  const char *tokenizer = TextDatumGetCString(PG_GETARG_DATUM(2));
  const SetMaker *maker = create_set_maker(tokenizer, TEXTOID, PG_GET_COLLATION(), CurrentMemoryContext);
  const Datum left_set = make_set(*maker, left), right_set = make_set(*maker, right);
  return count_arrays(left_set, right_set, function);
}

double similarity_of(Measure measure, const SetCounts &counts) {
  return similarity(measure, counts.overlap, counts.left, counts.right);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_jaccard_similarity);
Datum simjoin_jaccard_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::jaccard, count_arguments(fcinfo, "jaccard_similarity")));
}

PG_FUNCTION_INFO_V1(simjoin_cosine_similarity);
Datum simjoin_cosine_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::cosine, count_arguments(fcinfo, "cosine_similarity")));
}

PG_FUNCTION_INFO_V1(simjoin_dice_similarity);
Datum simjoin_dice_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::dice, count_arguments(fcinfo, "dice_similarity")));
}

PG_FUNCTION_INFO_V1(simjoin_overlap_count);
Datum simjoin_overlap_count(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(static_cast<int32>(count_arguments(fcinfo, "overlap_count").overlap));
}

PG_FUNCTION_INFO_V1(simjoin_overlap_coefficient);
Datum simjoin_overlap_coefficient(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(
      similarity_of(Measure::overlap_coefficient, count_arguments(fcinfo, "overlap_coefficient")));
}

PG_FUNCTION_INFO_V1(simjoin_containment);
Datum simjoin_containment(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::containment, count_arguments(fcinfo, "containment")));
}

PG_FUNCTION_INFO_V1(simjoin_jaccard_distance);
Datum simjoin_jaccard_distance(PG_FUNCTION_ARGS) {
  const SetCounts counts = count_arguments(fcinfo, "jaccard_distance");
  PG_RETURN_FLOAT8(jaccard_distance(counts.overlap, counts.left, counts.right));
}

PG_FUNCTION_INFO_V1(simjoin_similar);
Datum simjoin_similar(PG_FUNCTION_ARGS) {
  const SetCounts counts = count_arguments(fcinfo, "sets_similar");
  const Settings::OfOperator by = Settings::of_operator();
  PG_RETURN_BOOL(similarity_of(by.measure, counts) >= by.threshold);
}

PG_FUNCTION_INFO_V1(simjoin_text_is_no_set);
Datum simjoin_text_is_no_set(PG_FUNCTION_ARGS) {
  const char *name = get_func_name(fcinfo->flinfo->fn_oid);
  const bool similar = name != nullptr && std::strcmp(name, "sets_similar") == 0;
  const bool takes_tokenizer = !similar && PG_NARGS() == 2;  // not with weights, and not minhash()
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: a set is an array of type integer[], bigint[] or text[], and not a text",
                         similar ? "~=" : name),  // which is how users call that function
                  errhint("Give literals and parameters their type, as in '{1,2}'::integer[] or $1::text[]. "
                          "A set of the pieces or words of a text is made as in shingles(body) or "
                          "string_to_array(body, ' ').%s",
                          takes_tokenizer
                              ? psprintf(" Or give a tokenizer: %s(a.name, b.name, 'shingles(5)').", name)
                              : "")));
  PG_RETURN_NULL();
}
}

}  // namespace simjoin::pg
