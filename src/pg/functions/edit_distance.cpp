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

#include "core/text/edit_distance.hpp"
#include "core/text/edit_keys.hpp"
#include "pg/base/errors.hpp"
#include "pg/functions/characters.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

// The keys of most texts take less memory. Those of others are not kept.
constexpr size_t kept_keys = 1 << 16;

// Texts of more characters are refused by fuzzystrmatch.
constexpr size_t longest_of_levenshtein = 255;

// Returns the edit distance of the call's first two texts: any if `most` is negative, and else at most
// most + 1.
int32 distance_of_call(FunctionCallInfo fcinfo, int64_t most) {
  return with_characters(fcinfo, [most](auto a, auto b) {
    return static_cast<int32>(
        call_cpp([&] { return most < 0 ? edit_distance(a, b) : edit_distance_up_to(a, b, most); }));
  });
}

// Returns the keys as an array. A text of more than `longest` characters has an array with NULL, unless all
// texts have the same key.
template <class Character>
Datum keys_of(std::span<const Character> characters, int32 edits, size_t longest) {
  if (characters.size() > longest && edits <= most_edits) {
    Datum none = 0;
    bool null = true;
    int length = 1, bound = 1;
    return PointerGetDatum(
        construct_md_array(&none, &null, 1, &length, &bound, INT4OID, sizeof(int32), true, TYPALIGN_INT));
  }
  static std::vector<int32_t> kept;
  const size_t count = call_cpp([&] {
    if (kept.capacity() > kept_keys) kept = {};
    kept.clear();
    add_edit_keys(characters, edits, &kept);
    return kept.size();
  });
  const NewArray<int32> array = make_array<int32>(count);
  std::copy_n(kept.data(), count, array.elements);
  return array.datum();
}

Datum keys_of_call(FunctionCallInfo fcinfo, size_t longest) {
  const Bytes bytes = bytes_of(PG_GETARG_TEXT_PP(0));
  const int32 edits = PG_GETARG_INT32(1);
  return has_characters_of_bytes(bytes) ? keys_of(bytes, edits, longest)
                                        : keys_of(points_of(bytes), edits, longest);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_edit_distance);
Datum simjoin_edit_distance(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(distance_of_call(fcinfo, -1));
}

PG_FUNCTION_INFO_V1(simjoin_edit_distance_up_to);
Datum simjoin_edit_distance_up_to(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(distance_of_call(fcinfo, PG_GETARG_INT32(2)));
}

PG_FUNCTION_INFO_V1(simjoin_edit_keys);
Datum simjoin_edit_keys(PG_FUNCTION_ARGS) {
  return keys_of_call(fcinfo, SIZE_MAX);
}

PG_FUNCTION_INFO_V1(simjoin_levenshtein_keys);
Datum simjoin_levenshtein_keys(PG_FUNCTION_ARGS) {
  return keys_of_call(fcinfo, longest_of_levenshtein);
}

// The planner calls it, which loads this library and the join hook before join paths are made.
PG_FUNCTION_INFO_V1(simjoin_edit_distance_support);
Datum simjoin_edit_distance_support(PG_FUNCTION_ARGS) {
  (void)fcinfo;
  PG_RETURN_POINTER(nullptr);
}
}

}  // namespace simjoin::pg
