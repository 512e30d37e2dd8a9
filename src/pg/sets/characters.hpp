// The characters of texts as numbers.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "fmgr.h"
}

#include <cstdint>
#include <span>

namespace simjoin::pg {

using Bytes = std::span<const uint8_t>;
using Points = std::span<const uint32_t>;

// Texts of more characters are refused by levenshtein of fuzzystrmatch, unless the other text is empty.
inline constexpr uint32_t longest_of_levenshtein = 255;

Bytes bytes_of(const text *input);

// Returns whether each byte of the text is a character, and the same number in all texts.
bool has_characters_of_bytes(Bytes bytes);

// Returns the characters of a text as numbers: in UTF-8 code points, and in other encodings their bytes. They
// are in the current memory context.
Points points_of(Bytes bytes);

// Returns body(a, b) of the characters of the call's first two texts, as numbers of the same size.
template <class Body>
auto with_characters(FunctionCallInfo fcinfo, Body body) {
  const Bytes a = bytes_of(PG_GETARG_TEXT_PP(0)), b = bytes_of(PG_GETARG_TEXT_PP(1));
  if (has_characters_of_bytes(a) && has_characters_of_bytes(b)) return body(a, b);
  return body(points_of(a), points_of(b));
}

}  // namespace simjoin::pg
