// The edit distance of two texts (Levenshtein's): the least number of characters to insert, delete or replace
// that makes one text the other.
#pragma once

#include <cstdint>
#include <span>

namespace simjoin {

// Returns the edit distance of two texts, or most + 1 if it is above `most` >= 0. Characters are numbers of 8
// or 32 bits. It takes one byte of memory a character of the longer text. Throws Cancelled if
// check_interruption() does.
template <typename Character>
int64_t edit_distance_up_to(std::span<const Character> a, std::span<const Character> b, int64_t most);

// Returns the edit distance of two texts. It takes time proportional to the distance times the length.
template <typename Character>
int64_t edit_distance(std::span<const Character> a, std::span<const Character> b);

}  // namespace simjoin
