// What kernels need to find their way in inverted lists.
#pragma once

#include "cuda/inverted_index.hpp"

namespace simjoin::gpu {

// Threads that share one set's prefix: enough that a set of thousands of tokens holds nobody up, and few
// enough for collections of tiny sets.
inline constexpr uint32_t prefix_lanes = 8;

__device__ inline const PrefixClass &class_of(const PrefixClass *classes, uint32_t count, uint32_t set) {
  uint32_t low = 0, high = count - 1;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (classes[middle].begin <= set) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return classes[low];
}

// Returns how many of a set's first `prefix` tokens are stored: those without a rank are its rarest.
__device__ inline uint32_t stored_prefix(const SetRecord &record, uint32_t prefix) {
  const uint32_t dropped = record.size - record.stored;
  return prefix > dropped ? min(prefix - dropped, record.stored) : 0;
}

// Returns the first place in [low, high) of ascending values that is not below `value`, or high.
__device__ inline uint32_t lower_bound(const uint32_t *values, uint32_t low, uint32_t high, uint32_t value) {
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace simjoin::gpu
