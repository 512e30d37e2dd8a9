// Random numbers for walks: a function of seed, walk and step, so that they do not depend on who walks.
#pragma once

#include <cstdint>

namespace simjoin {

// Returns 64 bits in which each bit of the input counts (the finalizer of SplitMix64; Steele, Lea and Flood:
// Fast splittable pseudorandom number generators, 2014).
constexpr uint64_t mix_bits(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// The numbers of one walk, in order.
class WalkRandom {
 public:
  constexpr WalkRandom(uint64_t seed, uint64_t walk) : state_(mix_bits(mix_bits(seed) ^ walk)) {}

  constexpr uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    return mix_bits(state_);
  }
  // Returns a number below `count` >= 1, each with about the same probability.
  constexpr uint64_t below(uint64_t count) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }
  // Returns a number in [0, 1).
  constexpr double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace simjoin
