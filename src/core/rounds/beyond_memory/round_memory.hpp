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
  bool signs_sets = true;      // and make a table of signatures of sets
  bool counts = true;          // whether probes may be looked up one by one
};

// Returns how many of a set's `size` tokens are in its index prefix.
uint32_t index_prefix_length(const JoinSpec &spec, uint32_t size);

// Bytes, about; more rather than less.
struct RoundBytes {
  size_t ordering;  // of sets being brought into order, in a second copy of themselves
  size_t building;  // of the index side and what is built over it, meanwhile
  size_t joining;   // of the same, and what the workers keep for each of its sets
};

// Returns what the index side takes. `bitmap_words` is the width of the bitmaps where they are the generator,
// 0 where it is the prefix index.
RoundBytes estimated_round_bytes(const JoinSpec &spec, const RoundShape &shape, uint32_t bitmap_words,
                                 int workers);

// What one worker takes whatever it works on: lists of candidates, a tile of bitmaps, a batch of results.
inline constexpr size_t bytes_a_worker = size_t{192} << 10;

}  // namespace simjoin
