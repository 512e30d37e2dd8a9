// FlyHash: which positions of a vector each row of the projection adds up, and the numbers that it adds. The
// page docs/formats.md specifies both. Any device computes the same bits.
//
// FlyHash is Dasgupta, Stevens and Navlakha, A neural algorithm for a fundamental computing problem, 2017: a
// sparse binary random projection into many more dimensions, where the largest activations win.
#pragma once

#include <cstdint>

#include "core/minhash/minhash_family.hpp"

namespace simjoin {

// Positions have 16 bits, and activations fewer than 32.
inline constexpr uint32_t max_fly_dimension = 65535;
inline constexpr uint32_t max_fly_hash_length = uint32_t{1} << 20;
// The positions of all rows together take at most 512 MB.
inline constexpr uint64_t max_fly_projected = uint64_t{1} << 28;

// A vector's values become integers from 1 to 2^15 - 1, around the one that stands for 0.
inline constexpr uint32_t fly_level_bits = 15;
inline constexpr uint32_t fly_zero_level = uint32_t{1} << (fly_level_bits - 1);
inline constexpr uint32_t fly_most_level = (uint32_t{1} << fly_level_bits) - 1;

// The parameters of a hash.
struct FlyShape {
  uint32_t dimension;    // of the vectors, 1 to max_fly_dimension
  uint32_t hash_length;  // rows of the projection, 1 to max_fly_hash_length
  uint32_t winners;      // positions in a hash, 1 to hash_length
  uint32_t projection;   // positions of the vector that a row adds up, 1 to dimension
  uint64_t seed;

  bool operator==(const FlyShape &) const = default;
};

// Returns a twentieth of `count`, rounded, and at least 1: the published share of ones in a projection and of
// winners.
constexpr uint32_t fly_share(uint32_t count) {
  return count < 30 ? 1 : (count + 10) / 20;
}

// Calls take(position) for positions of a row until `projection` distinct ones have been taken; take()
// returns whether the position was not taken before, and takes it. Every choice of positions is equally
// likely (Floyd's algorithm; Bentley, Programming pearls: a sample of brilliance, 1987), but for what 32
// random bits cannot be divided by.
template <class Take>
SIMJOIN_HOST_DEVICE inline void draw_fly_row(const FlyShape &shape, uint32_t row, Take &&take) {
  RandomWords random{};
  for (uint32_t draw = 0; draw < shape.projection; ++draw) {
    if (draw % 4 == 0) random = random_words(shape.seed, draw / 4, 0, row, RandomUse::fly_projection);
    const uint32_t last = shape.dimension - shape.projection + draw;
    const auto position = static_cast<uint32_t>((uint64_t{random.word[draw % 4]} * (last + 1)) >> 32);
    if (!take(position)) take(last);
  }
}

}  // namespace simjoin
