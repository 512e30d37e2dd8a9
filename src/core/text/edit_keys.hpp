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
// An edit may also exchange two neighbours. Two texts have a common part: what remains of either if each edit
// leaves out what it inserts, deletes or replaces, and one of two neighbours that it exchanges. So it lacks
// up to `edits` characters of each text. If it is short, it is a key of both: a short text has a key for each
// text that remains if up to `edits` of its characters are deleted.
//
// A long common part counts as edits + 1 segments (after Li, Deng, Wang, Feng: Pass-Join, 2011). An edit
// leaves characters out at one place of it, an exchange just before and after the neighbour that stays. So
// it parts one segment at most, and one stands unchanged in both texts. A long text has keys for the segments
// of common parts of each length, at each place where one can stand.
template <typename Character>
void add_edit_keys(std::span<const Character> text, int32_t edits, std::vector<int32_t> *keys);

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
