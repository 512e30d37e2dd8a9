// Distribution of items into buckets by several workers: they count, then place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// The items are cut into parts, each for one worker at a time. A bucket's items come in the order of the
// parts. `Place` is an unsigned type that holds the number of items.
template <typename Place>
class Distribution {
 public:
  Distribution(size_t parts, size_t buckets, WorkerPool &pool, MemoryCounter &memory)
      : parts_(parts), buckets_(buckets), pool_(pool), cursors_(memory, parts * buckets, 0) {}

  // Returns the bytes of a distribution.
  static size_t bytes(size_t parts, size_t buckets) { return sizeof(Place) * parts * buckets; }

  // Calls body(part, counts) for each part, which adds 1 to counts[bucket] for each item of the part. Called
  // once, before all else.
  template <class Body>
  void count(Body &&body) {
    SIMJOIN_CHECK(begins_.empty());
    each_part(body);
    begins_.reserve(buckets_ + 1);
    Place placed = 0;
    for (size_t bucket = 0; bucket < buckets_; ++bucket) {
      begins_.push_back(placed);
      for (size_t part = 0; part < parts_; ++part)
        placed += std::exchange(cursors_[part * buckets_ + bucket], placed);
    }
    begins_.push_back(placed);
  }
  // Calls body(part, places) for each part, which puts each of its items at places[bucket]++. All items may
  // be placed at once, or in several calls that each place some buckets.
  template <class Body>
  void place(Body &&body) {
    SIMJOIN_CHECK(!begins_.empty());  // count() was called
    each_part(body);
  }

  size_t parts() const { return parts_; }
  size_t buckets() const { return buckets_; }
  Place items() const { return begins_.back(); }
  // Returns the place of a bucket's first item. The items of the last bucket end at begin(buckets()).
  Place begin(size_t bucket) const { return begins_[bucket]; }

 private:
  template <class Body>
  void each_part(Body &&body) {
    pool_.parallel(parts_, [&](int, size_t part) { body(part, cursors_.data() + part * buckets_); });
  }

  const size_t parts_, buckets_;
  WorkerPool &pool_;
  Buffer<Place> cursors_;  // by part and bucket: counts first, then places
  std::vector<Place> begins_;
};

}  // namespace simjoin
