// The pieces of a text one by one, with their places: what a set of shingles is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizer.hpp"

namespace simjoin {

// A text as shingles see it, and where each of its characters comes from.
struct NormalText {
  std::string bytes;
  std::vector<int64_t> places;  // of each character: the number that it had in the text that was given
};

// Returns the text, which is prepared and in lower case, as shingles of the unit see it: without white space
// at both ends, each run of it one space; grams have what is around the text. Throws Cancelled if
// check_interruption() does.
NormalText normal_text(std::string_view text, ShingleUnit unit, uint32_t size);

// A piece at one place of a text.
struct TextPiece {
  std::string_view bytes;
  size_t first_character;  // of the normal text
  int64_t token;           // in the set
};

// Returns the pieces of a normal text from its beginning on, those that are equal included.
std::vector<TextPiece> pieces_of(const NormalText &text, const Tokenizer &tokenizer);

}  // namespace simjoin
