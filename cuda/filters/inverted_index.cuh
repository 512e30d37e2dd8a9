// What kernels need to find their way in inverted lists.
#pragma once

#include "cuda/base/binary_search.cuh"
#include "cuda/filters/inverted_index.hpp"

namespace simjoin::gpu {

// Threads that share one set's prefix: enough that a set of thousands of tokens holds nobody up, and few
// enough for collections of tiny sets.
inline constexpr uint32_t prefix_lanes = 8;

__device__ inline const PrefixClass &class_of(const PrefixClass *classes, uint32_t count, uint32_t set) {
  return classes[partition_point(1u, count, [&](uint32_t i) { return classes[i].begin <= set; }) - 1];
}

// Returns how many of a set's first `prefix` tokens are stored: those without a rank are its rarest.
__device__ inline uint32_t stored_prefix(const SetRecord &record, uint32_t prefix) {
  const uint32_t dropped = record.size - record.stored;
  return prefix > dropped ? min(prefix - dropped, record.stored) : 0;
}

}  // namespace simjoin::gpu
