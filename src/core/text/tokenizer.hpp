// The names of the ways in which a text becomes a set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text/prepared_text.hpp"
#include "core/text/shingles.hpp"

namespace simjoin {

// How a text becomes a set: by pieces of the text, or by words as a text search configuration sees them.
struct Tokenizer {
  bool shingled;                   // by pieces, which are hashed
  ShingleUnit unit;                // of pieces
  bool wide;                       // whether their hashes have 64 bits
  int32_t size;                    // of a piece, in units; at least 1
  std::string_view configuration;  // of words, as written; empty if there is none
  bool multi = false;              // each occurrence of a token counts as a token of its own
  bool nfkc = false;               // how a text is prepared first
  bool unaccent = false;
  bool casefold = false;

  Preparation preparation() const { return {nfkc, unaccent, casefold}; }
};

// The most characters of a q-gram: a text has as many around it, and each is in as many q-grams.
inline constexpr int32_t longest_gram = 255;

// Returns the tokenizer that the text names, in this grammar, with spaces anywhere between:
//   (shingles | shingles64 | word_shingles | word_shingles64 | qgrams | qgrams64) [ "(" [ size ] options ")"
//   ] (alnum | alnum64) [ "(" options ")" ] words [ "(" [ configuration ] options ")" ]
// Arguments are separated by commas. The options are multi, nfkc, unaccent and casefold, in any order, each
// at most once. A configuration of an option's name is written in quotes. Returns nothing for other texts. If
// only an argument is wrong, `wrong` is that argument, else empty. The views are parts of the text.
std::optional<Tokenizer> parse_tokenizer(std::string_view text, std::string_view *wrong);

// The most bytes that the canonical name of a tokenizer takes, besides its configuration.
inline constexpr size_t longest_canonical_name = 100;

// Writes the one name that stands for all texts naming the same tokenizer. Returns its length.
size_t write_canonical_name(const Tokenizer &tokenizer, char *name);

}  // namespace simjoin
