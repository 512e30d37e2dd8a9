// Sums of weights without rounding, so that a similarity does not depend on the order in which weights are
// added.
//
// A weight is a float4, or the sum of a repeated token's float4s in double precision. So each weight is a
// multiple of 2^-149, and sums of as many as an array can hold are below 2^160.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace simjoin {

// Returns the weighted Jaccard similarity of two sets: the sum of the smaller weights divided by the sum of
// the larger ones, 0 where no weight is above 0. Both sums are exact ones, each rounded once to the nearest
// double.
inline double weighted_jaccard(double least, double most) {
  return most > 0 ? least / most : 0.0;
}

// The weights of some sets, as far as it matters for the exactness of sums.
struct WeightRange {
  double total = 0;  // the sum of the weights; for several sets, that of the heaviest set
  int lowest = std::numeric_limits<int>::max();  // every weight is a multiple of 2^lowest

  // Takes one more weight of a set.
  void add(double weight) {
    total += weight;
    if (weight > 0) lowest = std::min(lowest, lowest_bit(weight));
  }
  // Takes the range of another set.
  void join(const WeightRange &other) {
    total = std::max(total, other.total);
    lowest = std::min(lowest, other.lowest);
  }
  // Returns whether doubles hold all sums and differences of the weights of any two of the sets exactly. Then
  // they are the same in any order. The total decides although it may be rounded: if one of its partial sums
  // is inexact, that one and all later ones are too large.
  bool sums_are_exact() const {
    return total == 0 || 2 * total <= std::ldexp(1.0, lowest + std::numeric_limits<double>::digits);
  }

 private:
  // Returns the exponent of the lowest bit of a weight above 0, which is never subnormal as a double.
  static int lowest_bit(double weight) {
    constexpr int fraction_bits = 52, bias = 1023;
    const auto bits = std::bit_cast<uint64_t>(weight);
    const uint64_t fraction = (bits & ((uint64_t{1} << fraction_bits) - 1)) | uint64_t{1} << fraction_bits;
    return static_cast<int>(bits >> fraction_bits) - bias - fraction_bits + std::countr_zero(fraction);
  }
};

// A sum of weights of any range, exact.
class ExactSum {
 public:
  // Adds a weight.
  void add(double weight);
  void add(const ExactSum &other);
  // Subtracts a sum that is not larger.
  void subtract(const ExactSum &other);
  // Returns the nearest double, the even one of two.
  double rounded() const;

 private:
  static constexpr int lowest_exponent = -149;  // of the lowest bit

  void add_at(size_t word, uint64_t value);

  std::array<uint64_t, 5> words_{};  // ascending
};

}  // namespace simjoin
