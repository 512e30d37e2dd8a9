// The vectorised folding of texts: lower case, and each run of white space as one space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/letters.hpp"

namespace simjoin {

// Returns the number of bytes before the first character whose lower case the letters do not have.
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

// Folds characters of the text, which is not empty: at least `least` bytes, or all of a shorter text. Returns
// the number of bytes. Without letters characters are not changed. Otherwise the letters have all of them.
// The folded text has no more bytes.
size_t fold_text(const Letters *letters, std::string_view text, size_t least, FoldedText *folded);

// Writes the places where characters of valid UTF-8 begin, and returns their number. There is room for one
// for each byte.
size_t character_starts(std::string_view text, uint32_t *starts);

}  // namespace simjoin
