// The distance of two texts by Damerau: the least number of characters to insert, delete or replace, and of
// pairs of neighbours to exchange, that makes one text the other. It is the restricted one, also known as
// that of optimal string alignment: nothing is changed twice, so a pair that is exchanged stays as it is.
#pragma once

#include <cstdint>
#include <span>

namespace simjoin {

// Returns the distance of two texts, or most + 1 if it is above `most` >= 0. Characters are numbers of 8 or
// 32 bits. It takes time proportional to `most` times the length, and 24 bytes of memory for each of `most`.
// Throws Cancelled if check_interruption() does.
template <typename Character>
int64_t damerau_distance_up_to(std::span<const Character> a, std::span<const Character> b, int64_t most);

// Returns the distance of two texts. It takes time proportional to the distance times the length.
template <typename Character>
int64_t damerau_distance(std::span<const Character> a, std::span<const Character> b);

}  // namespace simjoin
