// An estimate of the number of distinct 32-bit values in a stream: adaptive sampling (Wegman; Flajolet 1990).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/sets/value_kernels.hpp"

namespace simjoin {

// Keeps the distinct values whose hashes are below a bound, and lowers the bound when these become too many.
// The estimate has a standard error of 3 %.
class DistinctSample {
 public:
  explicit DistinctSample(MemoryCounter &memory) : table_(memory) {}

  void add(const uint32_t *values, size_t count) {
    if (count >= least_by_vectors) return add_many(values, count);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t hash = sample_hash(values[i]);
      if (hash < bound_) insert(hash);
    }
  }
  uint64_t estimate() const { return static_cast<uint64_t>(used_) * (all_hashes / bound_); }

 private:
  static constexpr uint64_t all_hashes = uint64_t{1} << 32;
  static constexpr uint32_t free_slot = 0;  // also a hash: one value in 2^32 is not counted
  static constexpr size_t slots = 4096;
  static constexpr size_t most_used = slots / 2;

  void add_many(const uint32_t *values, size_t count);
  void insert(uint32_t hash);
  void put(uint32_t hash);

  Buffer<uint32_t> table_;       // open addressing by the hash's lowest bits
  uint64_t bound_ = all_hashes;  // a power of two
  size_t used_ = 0;
};

}  // namespace simjoin
