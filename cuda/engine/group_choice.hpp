// The choice of how signatures are compared: pair by pair, or with groups of partners.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/base/device.hpp"
#include "cuda/engine/compared_sets.hpp"
#include "cuda/filters/bitmap/bitmap_kernel.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// What the choice depends on besides the range.
struct GroupInputs {
  Device &device;
  const DeviceCollection &collection;
  const ComparedSets &sets;
  BitmapKernel kernel;
  uint32_t border;      // as in bitmap_ranges()
  uint32_t most_group;  // partners, for which there is room
  uint32_t wanted;      // partners of a group; 0 = by a sample
};

// Returns the comparisons of signatures of `steps` steps that the kernel does in a millisecond.
double comparisons_per_ms(BitmapKernel kernel, uint32_t steps);

// Returns the ranges cut by set size, each part with the comparison that costs least by a sample. A range
// without enough work for a sample is not changed.
std::vector<BitmapRange> choose_groups(const GroupInputs &inputs, const std::vector<BitmapRange> &ranges);

}  // namespace simjoin::gpu
