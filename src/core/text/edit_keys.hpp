// Keys of texts: two texts within an edit distance share one, so a join by equal keys has all pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace simjoin {

// The largest distance for which texts have keys that tell them apart. Their number grows with its cube.
inline constexpr int32_t most_edits = 16;

// Appends the keys of a text for distances of up to `edits`. Any two texts within that distance share a key;
// few others do, unless they are short beside it. A negative distance has no keys. Beyond most_edits, all
// texts share one. The keys are the same in every process. Throws Cancelled if check_interruption() does.
//
// A short text has a key for each text that remains if up to `edits` of its characters are deleted. The
// shorter one of two long texts counts as edits + 1 segments, one of which no edit changes: the other text
// has it at almost the same place (Li, Deng, Wang, Feng: Pass-Join, 2011). So a long text has keys for the
// segments of texts that are as long or shorter, at each of these places.
template <typename Character>
void add_edit_keys(std::span<const Character> text, int32_t edits, std::vector<int32_t> *keys);

// The largest distance by Damerau with such keys.
inline constexpr int32_t most_damerau_edits = most_edits / 2;

// As add_edit_keys(), for distances by Damerau, restricted or not, of up to `edits`.
//
// An exchange of neighbours moves one of them. So it deletes and inserts one character, as a replacement
// does. What no edit deletes, inserts, replaces or moves stands in both texts in the same order, and each
// text lacks up to `edits` characters of it: short texts have the keys of that many deletions. In a long
// text, an exchange counts as a deletion and an insertion, each within one segment: its keys are those of
// twice as many edits. The lengths of two texts still differ by up to `edits` only.
template <typename Character>
void add_damerau_keys(std::span<const Character> text, int32_t edits, std::vector<int32_t> *keys);

// Appends keys of a text that any two texts share whose edit distance is at most the share 1 - similarity of
// the longer one's length. There are none but the empty text's if the similarity is above 1. If it is not
// above 0, and for distances beyond most_edits, all texts share one.
//
// The longer one's length n tells how many edits k(n) there may be. The shorter one has at least n - k(n)
// characters, so its own length tells a few numbers that may be k(n). A text has the keys of each, which are
// different ones for each number.
template <typename Character>
void add_edit_similarity_keys(std::span<const Character> text, double similarity, std::vector<int32_t> *keys);

}  // namespace simjoin
