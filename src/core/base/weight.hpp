// Which numbers are weights, of tokens and of edges, and what a token weighs by its rarity.
#pragma once

#include <cmath>
#include <cstdint>

namespace simjoin {

inline bool is_weight(double number) {
  return std::isfinite(number) && number >= 0;
}

// Returns the weight of a token that `with` of `all` sets have: smoothed, as in scikit-learn, so that a token
// that all sets have weighs 1, and one that no set has is the heaviest.
inline double rarity(double all, double with) {
  return std::log((1 + all) / (1 + with)) + 1;
}

// Returns that weight as the float4 that joins and tables have.
inline float stored_rarity(uint64_t all, uint64_t with) {
  return static_cast<float>(rarity(static_cast<double>(all), static_cast<double>(with)));
}

}  // namespace simjoin
