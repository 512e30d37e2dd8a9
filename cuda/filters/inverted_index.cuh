// Device functions for inverted lists.
#pragma once

#include "cuda/base/binary_search.cuh"
#include "cuda/filters/inverted_index.hpp"

namespace simjoin::gpu {

// Threads that share one set's prefix. They are enough for sets of thousands of tokens, and few enough for
// collections of tiny sets.
inline constexpr uint32_t prefix_lanes = 8;

__device__ inline const PrefixClass &class_of(const PrefixClass *classes, uint32_t count, uint32_t set) {
  return classes[partition_point(1u, count, [&](uint32_t i) { return classes[i].begin <= set; }) - 1];
}

// Returns how many of a set's first `prefix` tokens are stored. Tokens without a rank are not stored, and
// they are the set's rarest.
__device__ inline uint32_t stored_prefix(const SetRecord &record, uint32_t prefix) {
  const uint32_t dropped = record.size - record.stored;
  return prefix > dropped ? min(prefix - dropped, record.stored) : 0;
}

}  // namespace simjoin::gpu
