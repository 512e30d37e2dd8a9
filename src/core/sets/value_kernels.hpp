// The vectorised first look at the values of sets: whether they ascend, and the hashes of a distinct sample.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simjoin {

// For sets of fewer values, the call of a kernel does not pay (aol, Zen 4).
inline constexpr size_t least_by_vectors = 16;

// Writes the numbers of values (value_numbers) and returns how many values are not larger than the one
// before. `numbers` has room for `count` and does not overlap the values.
size_t write_and_count_descents(const int32_t *values, size_t count, uint32_t *numbers);
size_t write_and_count_descents(const int64_t *values, size_t count, uint64_t *numbers);

// Returns a bijection of the value, so that different values never collide.
inline uint32_t sample_hash(uint32_t value) {
  value *= 0x9E3779B1u;
  value ^= value >> 15;
  value *= 0x85EBCA77u;
  return value ^ value >> 13;
}

// Room after the hashes that sample_hashes() may overwrite.
inline constexpr size_t sample_padding = 16;

// Writes those hashes of the values that are at most `greatest`, a power of two less one, in their order.
// Returns their number.
size_t sample_hashes(const uint32_t *values, size_t count, uint32_t greatest, uint32_t *hashes);

}  // namespace simjoin
