// The vectorised folding of texts: lower case, and each run of white space as one space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/letters.hpp"

namespace simjoin {

// Returns the number of bytes before the first character whose lower case the letters do not tell.
size_t known_letters(const Letters &letters, std::string_view text);

// Where folded text goes.
struct FoldedText {
  char *end;
  bool after_space;  // as at the beginning of a text, too: a space is left out there
  bool ascii;        // all of it
  bool utf8;         // all of it
};

// Bytes beyond those taken that fold_text() may write to.
inline constexpr size_t fold_padding = 64;

// Folds characters of the text, whose bytes are at least one, and at least `least` bytes of it if it has so
// many. Returns how many bytes that were. Characters stay as they are without letters. Otherwise the letters
// know all of them. The folded text has no more bytes.
size_t fold_text(const Letters *letters, std::string_view text, size_t least, FoldedText *folded);

// Writes the places where characters of valid UTF-8 begin, and returns their number. There is room for one
// for each byte.
size_t character_starts(std::string_view text, uint32_t *starts);

}  // namespace simjoin
