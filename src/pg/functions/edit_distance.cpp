// Edit distances of texts, and their keys, as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "fmgr.h"
#include "utils/array.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <span>
#include <vector>

#include "core/text/damerau_distance.hpp"
#include "core/text/edit_distance.hpp"
#include "core/text/edit_keys.hpp"
#include "pg/base/errors.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/characters.hpp"

namespace simjoin::pg {
namespace {

// The keys of most texts take less memory. Those of others are not kept.
constexpr size_t kept_keys = 1 << 16;

// Returns a distance of the call's first two texts: any if `most` is negative, and else at most most + 1.
template <class Distance, class DistanceUpTo>
int32 distance_of_call(FunctionCallInfo fcinfo, int64_t most, Distance distance, DistanceUpTo up_to) {
  return with_characters(fcinfo, [&](auto a, auto b) {
    return static_cast<int32>(call_cpp([&] { return most < 0 ? distance(a, b) : up_to(a, b, most); }));
  });
}

int32 edit_distance_of_call(FunctionCallInfo fcinfo, int64_t most) {
  return distance_of_call(
      fcinfo, most, [](auto a, auto b) { return edit_distance(a, b); },
      [](auto a, auto b, int64_t limit) { return edit_distance_up_to(a, b, limit); });
}

int32 damerau_distance_of_call(FunctionCallInfo fcinfo, int64_t most) {
  return distance_of_call(
      fcinfo, most, [](auto a, auto b) { return damerau_distance(a, b); },
      [](auto a, auto b, int64_t limit) { return damerau_distance_up_to(a, b, limit); });
}

Datum array_of_null() {
  Datum none = 0;
  bool null = true;
  int length = 1, bound = 1;
  return PointerGetDatum(
      construct_md_array(&none, &null, 1, &length, &bound, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

// Returns the keys of a text as an array. add(characters, keys) appends them. A text of more than `longest`
// characters has an array with NULL.
template <class Add>
Datum keys_of_text(Bytes bytes, size_t longest, Add add) {
  static std::vector<int32_t> kept;
  auto keys_of = [&](auto characters) {
    if (characters.size() > longest) return array_of_null();
    const size_t count = call_cpp([&] {
      if (kept.capacity() > kept_keys) kept = {};
      kept.clear();
      add(characters, &kept);
      return kept.size();
    });
    const NewArray<int32> array = make_array<int32>(count);
    std::copy_n(kept.data(), count, array.elements);
    return array.datum();
  };
  return has_characters_of_bytes(bytes) ? keys_of(bytes) : keys_of(points_of(bytes));
}

// Returns the keys of the call's text for its number of edits, with an array of NULL for one of more than
// `longest` characters, unless all texts have the same key.
Datum edit_keys_of_call(FunctionCallInfo fcinfo, size_t longest) {
  const int32 edits = PG_GETARG_INT32(1);
  return keys_of_text(bytes_of(PG_GETARG_TEXT_PP(0)), edits > most_edits ? SIZE_MAX : longest,
                      [edits](auto text, auto *keys) { add_edit_keys(text, edits, keys); });
}

// The same for its similarity.
Datum similarity_keys_of_call(FunctionCallInfo fcinfo, size_t longest) {
  const double similarity = PG_GETARG_FLOAT8(1);
  return keys_of_text(
      bytes_of(PG_GETARG_TEXT_PP(0)), similarity > 0 ? longest : SIZE_MAX,
      [similarity](auto text, auto *keys) { add_edit_similarity_keys(text, similarity, keys); });
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_edit_distance);
Datum simjoin_edit_distance(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(edit_distance_of_call(fcinfo, -1));
}

PG_FUNCTION_INFO_V1(simjoin_edit_distance_up_to);
Datum simjoin_edit_distance_up_to(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(edit_distance_of_call(fcinfo, PG_GETARG_INT32(2)));
}

PG_FUNCTION_INFO_V1(simjoin_damerau_distance);
Datum simjoin_damerau_distance(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(damerau_distance_of_call(fcinfo, -1));
}

PG_FUNCTION_INFO_V1(simjoin_damerau_distance_up_to);
Datum simjoin_damerau_distance_up_to(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(damerau_distance_of_call(fcinfo, PG_GETARG_INT32(2)));
}

PG_FUNCTION_INFO_V1(simjoin_edit_keys);
Datum simjoin_edit_keys(PG_FUNCTION_ARGS) {
  return edit_keys_of_call(fcinfo, SIZE_MAX);
}

PG_FUNCTION_INFO_V1(simjoin_levenshtein_keys);
Datum simjoin_levenshtein_keys(PG_FUNCTION_ARGS) {
  return edit_keys_of_call(fcinfo, longest_of_levenshtein);
}

PG_FUNCTION_INFO_V1(simjoin_edit_similarity_keys);
Datum simjoin_edit_similarity_keys(PG_FUNCTION_ARGS) {
  return similarity_keys_of_call(fcinfo, SIZE_MAX);
}

PG_FUNCTION_INFO_V1(simjoin_levenshtein_similarity_keys);
Datum simjoin_levenshtein_similarity_keys(PG_FUNCTION_ARGS) {
  return similarity_keys_of_call(fcinfo, longest_of_levenshtein);
}
}

}  // namespace simjoin::pg
