// Sets that are too long for one warp. A warp that meets one puts it on a list, and a block works on it
// later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/base/launch.cuh"
#include "cuda/sets/signature_layout.hpp"

namespace simjoin::gpu {

inline constexpr unsigned long_set_threads = 1024;

// The list, for kernels.
struct LongSets {
  uint32_t *numbers;
  uint32_t *count;
  __device__ void add(uint32_t set) const { numbers[atomicAdd(count, 1u)] = set; }
};

// Returns the grid of a kernel that takes a block for each of `sets` sets.
inline LaunchShape long_set_shape(const Device &device, uint64_t sets) {
  const uint64_t blocks = std::min<uint64_t>(sets, 2 * static_cast<uint64_t>(device.processors()));
  return LaunchShape(static_cast<unsigned>(blocks), long_set_threads);
}

// The list of one launch. Its sets have `tokens` tokens in all, and the longest set has `longest`.
class LongSetList {
 public:
  LongSetList(Device &device, uint64_t tokens, uint64_t longest) : any_(longest > warp_set_tokens) {
    if (!any_) return;
    numbers_ = DeviceBuffer<uint32_t>(device, tokens / warp_set_tokens + 1);
    count_ = DeviceBuffer<uint32_t>(device, 1);
    count_.fill(0);
  }

  // Returns whether there may be long sets.
  bool any() const { return any_; }
  LongSets view() const { return {numbers_.data(), count_.data()}; }
  // Returns the grid of a kernel over the list: one block per set.
  LaunchShape shape(const Device &device) const { return long_set_shape(device, numbers_.size()); }

 private:
  const bool any_;
  DeviceBuffer<uint32_t> numbers_;
  DeviceBuffer<uint32_t> count_;
};

// Sets the bits of a set's tokens in a zeroed bitmap. `threads` threads take part, and this one is number
// `thread`.
__device__ inline void set_bits(const uint32_t *ranks, uint32_t stored, const DeviceSignatureLayout &layout,
                                uint32_t *bitmap, uint32_t thread, uint32_t threads) {
  for (uint32_t i = thread; i < stored; i += threads) {
    const uint32_t bit = layout.bit_of(ranks[i]);
    atomicOr(&bitmap[bit / 32], 1u << bit % 32);
  }
}

}  // namespace simjoin::gpu
