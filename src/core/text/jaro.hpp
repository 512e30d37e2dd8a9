// The similarities of two texts by Jaro and by Winkler, and sets that texts share if they are similar.
//
// A character of one text matches an equal one of the other at almost the same place: max(|a|, |b|) / 2 - 1
// places away at most, rounded down, and 0 where that is negative. The first text's characters take the first
// one that is free, in their order. Where m characters match, and t is half the number of them that stand in
// another order, rounded down, Jaro's similarity is (m / |a| + m / |b| + (m - t) / m) / 3; 0 where none does.
// Winkler adds to a similarity J above 0.7 the share p / 10 of 1 - J, where the texts begin with p characters
// in common, which count up to 4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace simjoin {

// Return the similarity of two texts. Characters are numbers of 8 or 32 bits. It takes time proportional to
// the lengths, and four bytes of memory a character. Throw Cancelled if check_interruption() does.
template <typename Character>
double jaro_similarity(std::span<const Character> a, std::span<const Character> b);
template <typename Character>
double jaro_winkler_similarity(std::span<const Character> a, std::span<const Character> b);

// Appends a token for each character of a text: the character, and how often it stands before. So two texts
// share as many tokens as they have characters in common, at any places.
template <typename Character>
void add_character_tokens(std::span<const Character> text, std::vector<int64_t> *tokens);

// Return the cosine similarity that the sets of these tokens have at least, if the similarity of the texts is
// at least `least`. It is 0 where they need not share any.
//
// The sets of texts share o >= m tokens. So J <= (o / |a| + o / |b| + 1) / 3, and the shares x = o / |a| and
// y = o / |b| add up to 3 J - 1. They are at most 1, so x * y is least where one of them is: 3 J - 2. Its
// root is the cosine. Winkler's similarity is at most J + 0.4 (1 - J), so 3 J - 2 is at least 5 least - 4.
double least_cosine_for_jaro(double least);
double least_cosine_for_jaro_winkler(double least);

}  // namespace simjoin
