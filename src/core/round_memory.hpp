// What a round of a join takes, estimated before it is built: the measure by which a join is cut into rounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/join.hpp"

namespace simjoin {

// The index side of a round.
struct RoundShape {
  uint64_t sets = 0;
  uint64_t tokens = 0;    // stored
  uint64_t postings = 0;  // tokens in index prefixes
  uint64_t ranks = 0;
  bool signs_postings = true;  // whether `auto` may put signatures into the index
};

// Returns how many of a set's `size` tokens are in its index prefix.
uint32_t index_prefix_length(const JoinSpec &spec, uint32_t size);

// Returns the bytes of the index side with all that is built over it and what the workers keep for each of
// its sets, about; more rather than less. `bitmap_words` is the width of the bitmaps where they are the
// generator, 0 where it is the prefix index.
size_t estimated_round_bytes(const JoinSpec &spec, const RoundShape &shape, uint32_t bitmap_words,
                             int workers);

// What one worker takes whatever it works on: lists of candidates, a tile of bitmaps, a batch of results.
inline constexpr size_t bytes_a_worker = size_t{192} << 10;

}  // namespace simjoin
