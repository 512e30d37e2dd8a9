// Jaro's and Winkler's similarities of texts as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "fmgr.h"
}

#include <algorithm>
#include <vector>

#include "core/text/jaro.hpp"
#include "pg/base/errors.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/characters.hpp"

namespace simjoin::pg {
namespace {

// The tokens of most texts take less memory. Those of others are not kept.
constexpr size_t most_kept_tokens = 1 << 16;

template <class Character>
Datum tokens_of(std::span<const Character> characters) {
  static std::vector<int64_t> kept;
  const size_t count = call_cpp([&] {
    if (kept.capacity() > most_kept_tokens) kept = {};
    kept.clear();
    add_character_tokens(characters, &kept);
    return kept.size();
  });
  const NewArray<int64> array = make_array<int64>(count);
  std::copy_n(kept.data(), count, array.elements);
  return array.datum();
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_jaro_similarity);
Datum simjoin_jaro_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(with_characters(
      fcinfo, [](auto a, auto b) { return call_cpp([&] { return jaro_similarity(a, b); }); }));
}

PG_FUNCTION_INFO_V1(simjoin_jaro_winkler_similarity);
Datum simjoin_jaro_winkler_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(with_characters(
      fcinfo, [](auto a, auto b) { return call_cpp([&] { return jaro_winkler_similarity(a, b); }); }));
}

PG_FUNCTION_INFO_V1(simjoin_jaro_keys);
Datum simjoin_jaro_keys(PG_FUNCTION_ARGS) {
  const Bytes bytes = bytes_of(PG_GETARG_TEXT_PP(0));
  return has_characters_of_bytes(bytes) ? tokens_of(bytes) : tokens_of(points_of(bytes));
}
}

}  // namespace simjoin::pg
