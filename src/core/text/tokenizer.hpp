// The names of the ways in which a text becomes a set.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text/shingles.hpp"

namespace simjoin {

// How a text becomes a set: by shingles, or by words as a text search configuration sees them.
struct Tokenizer {
  bool shingled;
  ShingleUnit unit;                // of shingles
  bool wide;                       // whether their hashes have 64 bits
  int32_t size;                    // of a shingle, in units; at least 1
  std::string_view configuration;  // of words, as written; empty if there is none
};

// Returns the tokenizer that the text names: "shingles", "shingles64", "word_shingles" or "word_shingles64",
// with an optional size, as in "shingles(5)"; or "words", with an optional configuration, as in
// "words(english)". Spaces may stand around names, sizes and parentheses. Returns nothing for other texts.
// The configuration is a part of the text.
std::optional<Tokenizer> parse_tokenizer(std::string_view text);

}  // namespace simjoin
