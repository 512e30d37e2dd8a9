// Binary search by one thread. Thrust's for device code compiles to a branch and 64-bit sums in the loop.
// This one compiles to two selections.
#pragma once

#include <cstdint>

namespace simjoin::gpu {

// Returns the first i in [low, high) for which before(i) is false, or high. `before` must be true for all
// smaller i and false for all larger ones.
template <typename Index, typename Before>
__device__ inline Index partition_point(Index low, Index high, Before before) {
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns the first index in [low, high) whose value in ascending `values` is not below `value`, or high.
template <typename Index, typename Value>
__device__ inline Index lower_bound(const Value *values, Index low, Index high, Value value) {
  return partition_point(low, high, [&](Index i) { return values[i] < value; });
}

}  // namespace simjoin::gpu
