// The uploaded sides as sets by row: tokens become ranks, and duplicates go.
#pragma once

#include <cstdint>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/token_ranks.hpp"
#include "cuda/sets/upload.hpp"

namespace simjoin::gpu {

// The tokens of all sides, and the rows' offsets in them.
struct JoinedSides {
  DeviceBuffer<char> joined;  // only if there are two sides
  const void *tokens = nullptr;
  uint64_t count = 0;
  uint32_t rows = 0;
  DeviceBuffer<uint64_t> offsets;
};

// Returns the sides one after the other, and frees them but for the tokens of a single side. `sides[1]` is
// null in a self-join. Throws Error limit_exceeded.
JoinedSides join_sides(Device &device, UploadedSide *sides[2], size_t token_bytes);

// The sets by row, mapped but not yet ordered.
struct RowSets {
  DeviceBuffer<uint32_t> ranks;
  DeviceBuffer<uint64_t> starts;   // by row, then the end
  DeviceBuffer<uint32_t> dropped;  // by row: tokens without a rank
  uint64_t stored = 0;
  bool had_duplicates = false;
};

// Returns the sets of the rows. `wide` says that tokens have 64 bits. Throws Cancelled.
RowSets map_rows(Device &device, const JoinedSides &input, const TokenRanks &ranks, bool wide,
                 const StopFlag &stop);

}  // namespace simjoin::gpu
