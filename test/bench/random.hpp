// Random numbers for the synthetic collections: the same seed gives the same numbers on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace simjoin::bench {

// Returns the next value of the SplitMix64 generator (Steele, Lea and Flood 2014), and advances its state.
inline uint64_t split_mix(uint64_t &state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// The xoshiro256** generator (Blackman and Vigna 2018), and the distributions drawn from it.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t &word : state_) word = split_mix(seed);
  }

  // Returns 64 random bits.
  uint64_t bits() {
    const uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  // Returns a number in [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11) * (1.0 / 9007199254740992.0); }

  // Returns an integer in [0, limit).
  uint64_t below(uint64_t limit) {
    __extension__ using Product = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Product>(bits()) * limit) >> 64);
  }

  // Returns a draw from the standard normal distribution, by Marsaglia's polar method.
  double normal() {
    double u, v, square;
    do {
      u = 2 * fraction() - 1;
      v = 2 * fraction() - 1;
      square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * std::sqrt(-2 * std::log(square) / square);
  }

 private:
  static uint64_t rotate_left(uint64_t value, int count) {
    return (value << count) | (value >> (64 - count));
  }

  uint64_t state_[4];
};

// Draws indexes with probabilities proportional to given weights in constant time, by Vose's alias method.
class WeightedIndex {
 public:
  explicit WeightedIndex(const std::vector<double> &weights)
      : keep_(weights.size(), 1.0f), alias_(weights.size()) {
    const size_t count = weights.size();
    std::iota(alias_.begin(), alias_.end(), 0u);
    double total = 0;
    for (double weight : weights) total += weight;
    std::vector<double> scaled(count);
    std::vector<uint32_t> light, heavy;
    for (size_t i = 0; i < count; ++i) {
      scaled[i] = weights[i] * static_cast<double>(count) / total;
      (scaled[i] < 1 ? light : heavy).push_back(static_cast<uint32_t>(i));
    }
    while (!light.empty() && !heavy.empty()) {
      const uint32_t low = light.back(), high = heavy.back();
      light.pop_back();
      keep_[low] = static_cast<float>(scaled[low]);
      alias_[low] = high;
      scaled[high] = (scaled[high] + scaled[low]) - 1;
      if (scaled[high] < 1) {
        heavy.pop_back();
        light.push_back(high);
      }
    }
  }

  uint32_t draw(Random &random) const {
    const auto i = static_cast<uint32_t>(random.below(keep_.size()));
    return random.fraction() < keep_[i] ? i : alias_[i];
  }

 private:
  std::vector<float> keep_;
  std::vector<uint32_t> alias_;
};

}  // namespace simjoin::bench
