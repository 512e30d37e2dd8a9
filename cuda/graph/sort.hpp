// Sorts and scans by CUB for graphs, in a file of their own because they compile slowly.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// Sorts keys by their lowest `bits` bits.
void sort_keys(Device &device, DeviceBuffer<uint64_t> &keys, int bits);
// Sorts keys by their lowest `bits` bits, together with their values. The sort is stable.
void sort_pairs(Device &device, DeviceBuffer<uint64_t> &keys, DeviceBuffer<uint64_t> &values, int bits);
// Returns the sum of the counts.
uint64_t sum_of(Device &device, const DeviceBuffer<uint32_t> &counts);
// Replaces each count by the sum of all counts before it. The array has one element after the counts, which
// becomes the sum of all counts. The sum must fit in 32 bits.
void sum_before(Device &device, DeviceBuffer<uint32_t> &counts);

}  // namespace simjoin::gpu
