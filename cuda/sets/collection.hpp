// The sets of a join in device memory: ranked, without duplicates, ordered by size.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "cuda/base/device.hpp"
#include "cuda/sets/signature_layout.hpp"
#include "cuda/sets/token_ranks.hpp"
#include "cuda/sets/upload.hpp"

namespace simjoin::gpu {

// One set. Its stored tokens are ranks[start, start + stored), ascending. Tokens without a rank are not
// stored.
struct alignas(32) SetRecord {
  uint64_t start;
  uint32_t stored;
  uint32_t size;       // tokens of the whole set
  uint32_t row;        // its number on its side
  uint32_t unused[3];  // zeros, since records are copied between GPUs as a whole
};

// Sets of one size: numbers [begin, next class's begin) of their side.
struct DeviceSizeClass {
  uint32_t size;
  uint32_t begin;
};

// One side. Records ascend by size. Within a size they are ordered by signature excess, ascending and
// descending in turn.
struct DeviceSide {
  DeviceBuffer<SetRecord> records;
  uint32_t sets = 0;
  std::vector<DeviceSizeClass> classes;  // ascending; a last entry with size UINT32_MAX marks the end

  // Returns the number of the first set with at least `size` tokens.
  uint32_t lower_bound(uint64_t size) const;
};

struct DeviceCollection {
  DeviceBuffer<uint32_t> ranks;  // stored tokens of all sets, with gaps between sets
  DeviceSide sides[2];
  // By row, without duplicates. Empty if there were no duplicates.
  std::vector<uint32_t> sizes[2];
  uint64_t tokens[2] = {0, 0};  // sums of the sizes
  uint32_t rank_count = 0;
  uint64_t distinct_tokens = 0;  // including those without a rank
  uint64_t stored_tokens = 0;
  std::vector<uint32_t> most_frequent;  // occurrences of the last ranks

  // Returns the layout of signatures of `steps` steps, with bits for an excess of up to `excess_bits`.
  DeviceSignatureLayout layout(uint32_t steps, uint32_t excess_bits = 0) const;
};

// Builds the collection from the uploaded sides and frees them. `right` is null in a self-join. The order
// within a size depends on `widths`. Throws Cancelled.
DeviceCollection build_collection(Device &device, UploadedSide *left, UploadedSide *right,
                                  const SignatureWidths &widths, const StopFlag &stop);

// Returns a copy of a collection in another GPU's memory, as far as comparisons need it: without the sizes by
// row. `from` may not have work left to do. Calls check() between pieces, which may throw. Throws
// limit_exceeded.
DeviceCollection copy_collection(Device &device, const DeviceCollection &collection, const Device &from,
                                 const std::function<void()> &check);

}  // namespace simjoin::gpu
