// The bits of a signature that a token sets.
#pragma once

#include <cstdint>

#include "core/base/host_device.hpp"

namespace simjoin::gpu {

// Bits that one step of the binary tensor core instruction compares.
inline constexpr uint32_t step_bits = 256;
inline constexpr uint32_t step_words = step_bits / 32;
inline constexpr uint32_t most_steps = 1024;
// The most steps of a signature that a warp makes, and that one thread compares with another. Blocks work on
// wider ones.
inline constexpr uint32_t warp_steps = 64;
// The most tokens of a set that a warp signs: some 0.2 ms on an H200. A set of 10 million tokens would take a
// warp 0.1 to 0.2 s. Not tuned.
inline constexpr uint32_t warp_set_tokens = uint32_t{1} << 14;
// The most ranks that have a bit of their own while others share bits.
inline constexpr uint32_t most_own_bits = uint32_t{1} << 14;

// The most frequent ranks have one bit each. All others share the remaining bits evenly, and ranks of similar
// frequency have different bits. The last bits may be left to the excess of a set, its tokens minus their
// bits: each stands for one more, so what two sets share of them is the smaller of the two.
struct DeviceSignatureLayout {
  uint32_t steps = 1;        // of step_bits bits each
  uint32_t excess_bits = 0;  // at most 32
  uint32_t own = 0;          // ranks with a bit of their own; fewer than the bits, unless that is all ranks
  uint32_t ranks = 0;

  // Returns the number of bits for tokens.
  SIMJOIN_HOST_DEVICE uint32_t bits() const { return steps * step_bits - excess_bits; }
  // Returns whether no two ranks share a bit.
  bool exact() const { return own == ranks; }
  SIMJOIN_HOST_DEVICE uint32_t bit_of(uint32_t rank) const {
    const uint32_t from_top = ranks - 1 - rank;
    return from_top < own ? from_top : own + (from_top - own) % (bits() - own);
  }
};

// The width of a signature by set size. It grows at least in proportion to the size.
struct SignatureWidths {
  static constexpr uint32_t count = 7;

  uint32_t base = UINT32_MAX;  // the largest size with one step

  SIMJOIN_HOST_DEVICE static uint32_t steps(uint32_t width) {
    constexpr uint32_t values[count] = {1, 2, 4, 16, warp_steps, 256, most_steps};
    return values[width];
  }
  // Returns the largest size of a width.
  SIMJOIN_HOST_DEVICE uint32_t limit(uint32_t width) const {
    const uint64_t size = uint64_t{base} * steps(width);
    return width + 1 == count || size > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(size);
  }
  SIMJOIN_HOST_DEVICE uint32_t width_of(uint32_t size) const {
    uint32_t width = 0;
    while (size > limit(width)) ++width;
    return width;
  }
};

}  // namespace simjoin::gpu
