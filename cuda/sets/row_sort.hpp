// Sorts the ranks of each set in place.
#pragma once

#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// The sets by row, not yet ordered by size. Once the rows are sorted, the ranks of a row ascend from its
// start on, and what lies between the last of them and the next start means nothing.
struct RowSets {
  DeviceBuffer<uint32_t> ranks;
  DeviceBuffer<uint64_t> starts;  // by row, then the end
  DeviceBuffer<uint32_t> stored;  // by row: ranks
  DeviceBuffer<uint32_t> sizes;   // by row: tokens, those without a rank included
  uint32_t rows = 0;
  uint32_t longest = 0;  // an upper bound of the tokens of a row
  uint64_t stored_tokens = 0;
  bool had_duplicates = false;
};

// Sorts rows whose ranks are below `ranks`, drops repeats and no_rank, and sets `stored`, `stored_tokens` and
// `had_duplicates`. Sizes are the rows' lengths before. `unranked` of the tokens have no rank. Throws
// Cancelled.
void sort_rows(Device &device, RowSets &sets, uint32_t ranks, uint64_t unranked, const StopFlag &stop);

}  // namespace simjoin::gpu
