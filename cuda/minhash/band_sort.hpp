// Sorts the hashes of a band on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// The same memory layout as the core's SortKey.
struct BandKey {
  uint64_t row;
  uint64_t hash;
};

// Sorts keys in device memory by hash. The sort is stable.
void sort_band(Device &device, BandKey *keys, size_t count);

}  // namespace simjoin::gpu
