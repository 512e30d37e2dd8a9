// The estimated memory of a round of a join, before it is built. A join is cut into rounds by it.
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
  bool signs_sets = true;      // whether it may make a table of signatures of sets
  bool counts = true;          // whether probes may be looked up one by one
};

// Returns the number of a set's `size` tokens that are in its index prefix. It is the first set of the
// bounds.
uint32_t index_prefix_length(const Bounds &bounds, bool self_join, uint32_t size);

// Estimates in bytes, rather too large than too small.
struct RoundBytes {
  size_t ordering;  // the sets while they are ordered, with a second copy
  size_t building;  // the index side and its index, while it is built
  size_t joining;   // the same, and what the workers keep for each of its sets
};

// Returns the bytes of the index side. `bitmap_words` is the width of the bitmaps, or 0 if the prefix index
// is the generator.
RoundBytes estimated_round_bytes(const JoinSpec &spec, const RoundShape &shape, uint32_t bitmap_words,
                                 int workers);

// The bytes of one worker for any work: lists of candidates, a tile of bitmaps, a batch of results.
inline constexpr size_t bytes_per_worker = size_t{192} << 10;

}  // namespace simjoin
