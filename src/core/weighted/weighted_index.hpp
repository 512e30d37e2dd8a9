// The inverted index over the prefixes of weighted sets. A prefix ends where the mass that remains cannot
// reach what any partner needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// A token of a set's prefix.
struct WeightedPosting {
  uint32_t set;
  float excess;  // WeightedBounds::excess(), not rounded down
};

class WeightedIndex {
 public:
  // The sets are ordered by total (order_by_total) and outlive the index. Every rank is below `ranks`.
  WeightedIndex(const WeightedSets &sets, const WeightedBounds &bounds, uint32_t ranks, WorkerPool &pool,
                MemoryCounter &memory);

  const WeightedSets &sets() const { return sets_; }
  // Returns the postings of a rank, by ascending set, so by ascending total.
  std::span<const WeightedPosting> postings(uint32_t rank) const {
    const uint64_t begin = rank == 0 ? 0 : ends_[rank - 1];
    return {postings_.data() + begin, static_cast<size_t>(ends_[rank] - begin)};
  }

  // Returns the number of postings of an index over these sets.
  static uint64_t postings_of(const WeightedSets &sets, const WeightedBounds &bounds, const StopFlag &stop);
  // Returns the bytes of an index with so many postings and ranks.
  static size_t bytes(uint64_t postings, uint64_t ranks) {
    return postings * sizeof(WeightedPosting) + ranks * sizeof(uint64_t);
  }

 private:
  void sort_lists(WorkerPool &pool);

  const WeightedSets &sets_;
  Buffer<uint64_t> ends_;  // of each rank's postings
  Buffer<WeightedPosting> postings_;
};

}  // namespace simjoin
