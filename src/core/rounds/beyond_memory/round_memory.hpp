// The estimated memory of a round of a join, before it is built. A join is cut into rounds by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/join.hpp"
#include "core/measure.hpp"
#include "core/sets/set_sizes.hpp"

namespace simjoin {

// The index side of a round, or all sets of a join in memory.
struct RoundShape {
  uint64_t sets = 0;
  uint64_t tokens = 0;      // stored
  uint64_t index_sets = 0;  // the others are probes
  uint64_t postings = 0;    // tokens in index prefixes
  uint64_t ranks = 0;
  bool signs_postings = true;  // whether `auto` may put signatures into the index
  bool signs_sets = true;      // whether it may make a table of signatures of sets
  bool counts = true;          // whether probes may be looked up one by one
  // The bytes of ids, up to all, that are kept while the sets are ordered, beside their ranks.
  size_t kept_ids = SIZE_MAX;
};

// Returns the number of a set's `size` tokens that are in its index prefix. It is the first set of the
// bounds.
uint32_t index_prefix_length(const Bounds &bounds, bool self_join, uint32_t size);

// The postings that the sets of a side would have in an index, counted while sets come.
class PrefixPostings {
 public:
  // The first set of the bounds is one of the side.
  PrefixPostings(const Bounds &bounds, bool self_join) : bounds_(bounds), self_join_(self_join) {}

  // Counts the sets that have come since the last call. `sizes` has those of all sets so far.
  void update(const SetSizes &sizes);
  // Returns the number of tokens in index prefixes.
  uint64_t postings() const { return postings_; }
  // Returns the number of sizes that occur.
  size_t classes() const { return classes_; }

 private:
  uint32_t length(uint32_t size);

  const Bounds bounds_;
  const bool self_join_;
  std::vector<uint32_t> lengths_;  // of prefixes, by size of short sets, once one has come
  size_t seen_ = 0;                // sets
  size_t classes_ = 0;
  uint64_t postings_ = 0;
};

// Returns whether all probes are swept if postings have signatures, where sets of the index side have up to
// `size` tokens and probes up to `largest`. The first set of the bounds is one of the index side.
bool sweeps_all(const Bounds &of_index, uint32_t size, uint32_t largest);

// Returns the bytes of the counts that the workers keep of the sets of an index if probes are looked up one
// by one: of each set, the count of its shared tokens and its entry in the list of counted sets.
constexpr size_t counted_bytes(uint64_t sets, int workers) {
  return 12 * sets * static_cast<size_t>(workers);
}

// Estimates in bytes, rather too large than too small.
struct RoundBytes {
  size_t ordering;  // the sets while they are ordered
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
