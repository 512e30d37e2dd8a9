// FlyHash as docs/formats.md specifies it, step by step, and vectors for it.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "core/flyhash/flyhash_family.hpp"

namespace simjoin::test {

using Vectors = std::vector<std::vector<float>>;

// Returns the positions of a row: each number of Floyd's sample from a fresh draw of random words.
inline std::set<uint32_t> naive_row(const FlyShape &shape, uint32_t row) {
  std::set<uint32_t> positions;
  for (uint32_t draw = 0; draw < shape.projection; ++draw) {
    const RandomWords words = random_words(shape.seed, draw / 4, 0, row, RandomUse::fly_projection);
    const uint64_t choices = shape.dimension - shape.projection + draw + 1;
    const auto position = static_cast<uint32_t>(words.word[draw % 4] * choices / (uint64_t{1} << 32));
    if (!positions.insert(position).second) positions.insert(static_cast<uint32_t>(choices - 1));
  }
  return positions;
}

// Returns a vector's values as multiples of the power of two that brings the largest magnitude to 2^13 or
// more, and below 2^14.
inline std::vector<int64_t> naive_steps(const std::vector<float> &vector) {
  double largest = 0;
  for (const float value : vector) largest = std::max(largest, std::abs(double{value}));
  std::vector<int64_t> steps(vector.size(), 0);
  if (largest == 0) return steps;
  double scale = 1;
  while (largest * scale < 8192) scale *= 2;
  while (largest * scale >= 16384) scale /= 2;
  for (size_t i = 0; i < vector.size(); ++i) {
    steps[i] = std::clamp<int64_t>(std::llrint(vector[i] * scale), -16383, 16383);
  }
  return steps;
}

// Returns the `winners` rows with the largest activations, the first of equal ones, in ascending order.
template <class Number>
std::vector<uint32_t> best_rows(const std::vector<Number> &activations, uint32_t winners) {
  std::vector<uint32_t> rows(activations.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return activations[a] > activations[b]; });
  rows.resize(winners);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// The rows of a projection, which hash vectors one by one.
class NaiveFlyHash {
 public:
  explicit NaiveFlyHash(const FlyShape &shape) : shape_(shape) {
    for (uint32_t row = 0; row < shape.hash_length; ++row) rows_.push_back(naive_row(shape, row));
  }

  std::vector<uint32_t> hash(const std::vector<float> &vector) const {
    return winners_of(naive_steps(vector));
  }
  // Returns the winners without rounding to levels.
  std::vector<uint32_t> hash_unrounded(const std::vector<float> &vector) const {
    return winners_of(std::vector<double>(vector.begin(), vector.end()));
  }
  const std::vector<std::set<uint32_t>> &rows() const { return rows_; }

 private:
  template <class Number>
  std::vector<uint32_t> winners_of(const std::vector<Number> &values) const {
    std::vector<Number> activations;
    for (const std::set<uint32_t> &row : rows_) {
      Number sum = 0;
      for (const uint32_t position : row) sum += values[position];
      activations.push_back(sum);
    }
    return best_rows(activations, shape_.winners);
  }

  const FlyShape shape_;
  std::vector<std::set<uint32_t>> rows_;
};

// Vectors of several kinds, one after the other: normal, with one large value, few distinct values, values of
// very different sizes, mostly zeros, constant.
inline Vectors mixed_vectors(uint32_t dimension, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Vectors vectors;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> vector(dimension);
    for (float &value : vector) {
      value = normal(random);
      if (i % 7 == 2) value = static_cast<float>(random() % 3);
      if (i % 7 == 3) value = std::ldexp(value, static_cast<int>(random() % 40) - 20);
      if (i % 7 == 4 && random() % 10 != 0) value = 0;
      if (i % 7 == 5) value = static_cast<float>(i % 3) - 1;
      if (i % 7 == 6) value = std::abs(value);
    }
    if (i % 7 == 1) vector[random() % dimension] *= 1000;
    vectors.push_back(vector);
  }
  return vectors;
}

}  // namespace simjoin::test
