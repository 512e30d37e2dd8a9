// Random numbers for walks: functions of seed, walk and step, so they do not depend on the thread or device.
#pragma once

#include <cstdint>

#include "core/base/mix.hpp"

namespace simjoin {

// The numbers of one walk, in order. A step draws a fraction(), which decides whether the walk ends, and one
// more number for the way it goes.
class WalkRandom {
 public:
  // Continues from a state().
  SIMJOIN_HOST_DEVICE constexpr explicit WalkRandom(uint64_t state) : state_(state) {}
  SIMJOIN_HOST_DEVICE constexpr WalkRandom(uint64_t seed, uint64_t walk)
      : state_(mix_bits(mix_bits(seed) ^ walk)) {}

  SIMJOIN_HOST_DEVICE constexpr uint64_t next() {
    state_ += golden_gamma;
    return mix_bits(state_);
  }
  // Returns a number below `count` >= 1, each with about the same probability.
  SIMJOIN_HOST_DEVICE constexpr uint64_t below(uint64_t count) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }
  // Returns a number in [0, 1).
  SIMJOIN_HOST_DEVICE constexpr double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  SIMJOIN_HOST_DEVICE constexpr uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

}  // namespace simjoin
