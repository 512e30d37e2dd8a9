// Functions that spread the bits of a number, for hashes and random numbers (Steele, Lea and Flood: Fast
// splittable pseudorandom number generators, 2014).
#pragma once

#include <cstdint>

#include "core/base/host_device.hpp"

namespace simjoin {

inline constexpr uint64_t golden_gamma = 0x9E3779B97F4A7C15u;  // the step of SplitMix64

// Returns a bijection of 64-bit words in which every bit of the result depends on every bit of x (the
// finalizer of SplitMix64). The result for 0 is 0.
SIMJOIN_HOST_DEVICE constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Returns the first number of SplitMix64 with the seed x.
SIMJOIN_HOST_DEVICE constexpr uint64_t mix_bits(uint64_t x) {
  return mix64(x + golden_gamma);
}

}  // namespace simjoin
