// CUB's sorting and scanning for graphs, in a file of their own because they take long to compile.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// Sorts keys by their lowest `bits` bits.
void sort_keys(Device &device, DeviceBuffer<uint64_t> &keys, int bits);
// The same, values going with their keys; equal keys keep their order.
void sort_pairs(Device &device, DeviceBuffer<uint64_t> &keys, DeviceBuffer<uint64_t> &values, int bits);
// Returns the sum of all.
uint64_t sum_of(Device &device, const DeviceBuffer<uint32_t> &counts);
// Replaces each count by the sum of those before it; there must be one more than counts, whose value becomes
// the sum of all, which must fit.
void sum_before(Device &device, DeviceBuffer<uint32_t> &counts);

}  // namespace simjoin::gpu
