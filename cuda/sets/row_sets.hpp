// The uploaded sides as sets by row, with ranks instead of tokens.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"
#include "cuda/sets/row_sort.hpp"
#include "cuda/sets/token_ranks.hpp"
#include "cuda/sets/upload.hpp"

namespace simjoin::gpu {

// The tokens of all sides, and the rows' places in them.
struct JoinedSides {
  DeviceBuffer<char> joined;  // only if there are two sides
  const void *tokens = nullptr;
  uint64_t count = 0;
  uint32_t rows = 0;
  uint32_t longest = 0;            // an upper bound of the tokens of a row
  DeviceBuffer<uint64_t> starts;   // by row, then the end
  DeviceBuffer<uint32_t> lengths;  // by row
};

// Returns the sides one after the other, and frees them but for the tokens of a single side. `sides[1]` is
// null in a self-join. Throws Error limit_exceeded.
JoinedSides join_sides(Device &device, UploadedSide *sides[2], size_t token_bytes);

// Returns the rows with the rank or no_rank of each token, not yet sorted, and takes all of `input` but the
// tokens. `wide` says that tokens have 64 bits.
RowSets rank_rows(Device &device, JoinedSides &input, const TokenRanks &ranks, bool wide);

}  // namespace simjoin::gpu
