// Sorting the hashes of a band on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// In memory as core's SortKey is.
struct BandKey {
  uint64_t row;
  uint64_t hash;
};

// Sorts keys in device memory by their hashes; those of equal hashes stay in their order.
void sort_band(Device &device, BandKey *keys, size_t count);

}  // namespace simjoin::gpu
