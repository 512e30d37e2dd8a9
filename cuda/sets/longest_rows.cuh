// Rows too long for a block, sorted together.
#pragma once

#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// The rows that are being sorted, as kernels see them.
struct RowsView {
  uint32_t *ranks;  // before a row is sorted, no_rank marks tokens without a rank
  const uint64_t *starts;
  uint32_t *stored;
  uint32_t *sizes;
  unsigned long long *repeats;  // ranks that were dropped because their row has them twice
  int rank_bits;                // of the ranks and of none()

  // Returns the value of no_rank if ranks have rank_bits bits: more than any rank.
  __device__ uint32_t none() const { return static_cast<uint32_t>((uint64_t{1} << rank_bits) - 1); }
  // Returns the rank at `i`, or none().
  __device__ uint32_t rank(uint64_t i) const { return min(ranks[i], none()); }
};

// Sorts `count` rows of any length by radix sorts of the tokens of many rows. Ranks have fewer than 32 bits.
// Throws Cancelled.
void sort_longest_rows(Device &device, const RowsView &rows, const uint32_t *list, uint32_t count,
                       const StopFlag &stop);

}  // namespace simjoin::gpu
