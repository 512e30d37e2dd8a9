// Sums of weights, and of products of two weights, without rounding, so that a similarity does not depend on
// the order in which they are added.
//
// A weight is a float4, or the sum of a repeated token's float4s in double precision. So each weight is a
// multiple of 2^-149, and sums of as many as an array can hold are below 2^160. Products of two weights are
// multiples of 2^-298, and their sums are below 2^320.
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

// Returns the cosine of two sets with weights: the sum of the products of their weights, divided by the root
// of the product of their sums of squares; 0 where no weight of a set is above 0. The three sums are exact
// ones, each rounded once to the nearest double. So a set has the cosine 1 with itself, since the root of a
// square is not rounded.
inline double weighted_cosine(double products, double left_squares, double right_squares) {
  if (!(left_squares > 0) || !(right_squares > 0)) return 0.0;
  return std::min(products / std::sqrt(left_squares * right_squares), 1.0);
}

// A weight above 0: a number of at most 53 bits, the lowest one set, times 2^exponent.
struct WeightBits {
  // No weight is subnormal as a double.
  explicit WeightBits(double weight) {
    constexpr int fraction_bits = 52, bias = 1023;
    const auto all = std::bit_cast<uint64_t>(weight);
    number = (all & ((uint64_t{1} << fraction_bits) - 1)) | uint64_t{1} << fraction_bits;
    const int zeros = std::countr_zero(number);
    number >>= zeros;
    exponent = static_cast<int>(all >> fraction_bits) - bias - fraction_bits + zeros;
  }

  uint64_t number;
  int exponent;
};

// The weights of some sets, as far as it matters for the exactness of sums.
struct WeightRange {
  double total = 0;  // the sum of the weights; for several sets, that of the heaviest set
  int lowest = std::numeric_limits<int>::max();  // every weight is a multiple of 2^lowest

  // Takes one more weight of a set.
  void add(double weight) {
    total += weight;
    if (weight > 0) lowest = std::min(lowest, WeightBits(weight).exponent);
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
};

// An exact sum in binary, of as many words as hold it.
template <int lowest_exponent, size_t words>
class BinarySum {
 public:
  void add(const BinarySum &other);
  // Subtracts a sum that is not larger.
  void subtract(const BinarySum &other);
  // Returns the nearest double, the even one of two.
  double rounded() const;

 protected:
  // Adds number * 2^exponent, a multiple of the lowest bit.
  void add_number(uint64_t number, int exponent);

 private:
  void add_at(size_t word, uint64_t value);

  std::array<uint64_t, words> words_{};  // ascending
};

using WeightSum = BinarySum<-149, 5>;
using ProductSum = BinarySum<2 * -149, 10>;

// A sum of weights of any range, exact.
class ExactSum : public WeightSum {
 public:
  using WeightSum::add;
  // Adds a weight.
  void add(double weight);
};

// A sum of products of two weights of any range, exact.
class ExactProducts : public ProductSum {
 public:
  // Adds the product of two weights.
  void add(double left, double right);
};

}  // namespace simjoin
