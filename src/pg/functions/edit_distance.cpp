// Edit distances of texts, and their keys, as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/text/edit_distance.hpp"
#include "core/text/edit_keys.hpp"
#include "core/text/letters.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

using Bytes = std::span<const uint8_t>;
using Points = std::span<const uint32_t>;

// The keys of most texts take less memory. Those of others are not kept.
constexpr size_t kept_keys = 1 << 16;

// Texts of more characters are refused by fuzzystrmatch.
constexpr size_t longest_of_levenshtein = 255;

constexpr size_t bytes_between_checks = 1 << 16;

Bytes bytes_of(const text *input) {
  return {reinterpret_cast<const uint8_t *>(VARDATA_ANY(input)),
          static_cast<size_t>(VARSIZE_ANY_EXHDR(input))};
}

// Returns whether each byte of the text is a character, and the same number in all texts.
bool has_characters_of_bytes(Bytes bytes) {
  if (pg_database_encoding_max_length() == 1) return true;
  uint64_t all = 0;
  size_t i = 0;
  for (; i + sizeof all <= bytes.size(); i += sizeof all) {
    if (i % bytes_between_checks == 0) check_interrupts();
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    all |= word;
  }
  for (; i < bytes.size(); ++i) all |= bytes[i];
  return (all & 0x8080808080808080u) == 0;
}

// Returns the length of the first character of a text that is not empty.
size_t first_length(Bytes bytes) {
  const auto *text = reinterpret_cast<const char *>(bytes.data());
  if (GetDatabaseEncoding() == PG_UTF8) return character_length(text, text + bytes.size());
  return std::min(static_cast<size_t>(Max(pg_mblen(text), 1)), bytes.size());
}

// Returns the characters of a text as numbers: in UTF-8 code points, and in other encodings their bytes.
Points points_of(Bytes bytes) {
  auto *points = static_cast<uint32_t *>(
      MemoryContextAllocHuge(CurrentMemoryContext, sizeof(uint32_t) * Max(bytes.size(), 1)));
  const bool utf8 = GetDatabaseEncoding() == PG_UTF8;
  size_t count = 0;
  while (!bytes.empty()) {
    if (count % bytes_between_checks == 0) check_interrupts();
    const size_t length = first_length(bytes);
    if (utf8 && length > 1) {
      points[count] = code_point(reinterpret_cast<const char *>(bytes.data()), length);
    } else {
      points[count] = 0;
      for (const uint8_t byte : bytes.first(length)) points[count] = points[count] << 8 | byte;
    }
    ++count;
    bytes = bytes.subspan(length);
  }
  return {points, count};
}

// Returns the edit distance of the call's first two texts: any if `most` is negative, and else at most
// most + 1.
int32 distance_of_call(FunctionCallInfo fcinfo, int64_t most) {
  const Bytes a = bytes_of(PG_GETARG_TEXT_PP(0)), b = bytes_of(PG_GETARG_TEXT_PP(1));
  auto distance = [most](auto first, auto second) {
    return static_cast<int32>(call_cpp(
        [&] { return most < 0 ? edit_distance(first, second) : edit_distance_up_to(first, second, most); }));
  };
  if (has_characters_of_bytes(a) && has_characters_of_bytes(b)) return distance(a, b);
  return distance(points_of(a), points_of(b));
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
