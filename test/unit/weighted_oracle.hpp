// Random collections of sets with weights, and all their pairs compared one by one, with sums that another
// method makes exact.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/weighted/weighted_join.hpp"
#include "unit/drive.hpp"
#include "unit/process.hpp"

namespace simjoin::test {

using Weighted = std::map<int32_t, double>;

struct Collection {
  std::vector<Weighted> left;
  std::vector<Weighted> right;
  bool self_join = true;
  Measure measure = Measure::jaccard;
};

struct Found {
  uint32_t left;
  uint32_t right;
  double similarity;

  auto operator<=>(const Found &) const = default;
};

inline std::ostream &operator<<(std::ostream &out, const Found &found) {
  return out << '(' << found.left << ", " << found.right << "; " << std::hexfloat << found.similarity << ')';
}

// Returns the sum, rounded once: Shewchuk's method, as Python's math.fsum has it.
inline double rounded_once(const std::vector<double> &values) {
  std::vector<double> partials;
  for (double x : values) {
    size_t kept = 0;
    for (double y : partials) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0) partials[kept++] = low;
      x = high;
    }
    partials.resize(kept);
    partials.push_back(x);
  }
  double high = 0, low = 0;
  while (!partials.empty()) {
    const double x = high, y = partials.back();
    partials.pop_back();
    high = x + y;
    low = y - (high - x);
    if (low != 0) break;
  }
  // Half of a unit is rounded to even, unless there is more below it.
  if (!partials.empty() && (low < 0) == (partials.back() < 0) && low != 0) {
    const double y = low * 2, x = high + y;
    if (y == x - high) high = x;
  }
  return high;
}

// Adds the product to the terms, as two terms that are not rounded.
inline void add_product(double a, double b, std::vector<double> &terms) {
  terms.push_back(a * b);
  terms.push_back(std::fma(a, b, -terms.back()));
}

inline double cosine_of(const Weighted &l, const Weighted &r) {
  std::vector<double> products, l_squares, r_squares;
  for (const auto &[token, weight] : l) {
    add_product(weight, weight, l_squares);
    if (const auto other = r.find(token); other != r.end()) add_product(weight, other->second, products);
  }
  for (const auto &[token, weight] : r) add_product(weight, weight, r_squares);
  const double divisor = std::sqrt(rounded_once(l_squares) * rounded_once(r_squares));
  return divisor > 0 ? std::min(1.0, rounded_once(products) / divisor) : 0;
}

inline double jaccard_of(const Weighted &l, const Weighted &r) {
  std::vector<double> least, most;
  for (const auto &[token, weight] : l) {
    const auto other = r.find(token);
    least.push_back(other == r.end() ? 0 : std::min(weight, other->second));
    most.push_back(other == r.end() ? weight : std::max(weight, other->second));
  }
  for (const auto &[token, weight] : r)
    if (!l.contains(token)) most.push_back(weight);
  const double divisor = rounded_once(most);
  return divisor > 0 ? rounded_once(least) / divisor : 0;
}

inline double similarity_of(Measure measure, const Weighted &l, const Weighted &r) {
  return measure == Measure::cosine ? cosine_of(l, r) : jaccard_of(l, r);
}

// Returns all pairs with their similarities.
inline std::vector<Found> all_pairs(const Collection &input) {
  std::vector<Found> pairs;
  const std::vector<Weighted> &right = input.self_join ? input.left : input.right;
  for (uint32_t l = 0; l < input.left.size(); ++l) {
    for (uint32_t r = input.self_join ? l + 1 : 0; r < right.size(); ++r)
      pairs.push_back({l, r, similarity_of(input.measure, input.left[l], right[r])});
  }
  return pairs;
}

inline std::vector<Found> reaching(double threshold, std::vector<Found> pairs) {
  std::erase_if(pairs, [&](const Found &pair) { return !(pair.similarity >= threshold); });
  return pairs;
}

inline std::vector<Found> expected_pairs(const Collection &input, double threshold) {
  return reaching(threshold, all_pairs(input));
}

inline void add_set(JoinEngine &join, Side side, const Weighted &set, TokenType type) {
  std::vector<int32_t> tokens;
  std::vector<double> weights;
  for (const auto &[token, weight] : set) {
    tokens.push_back(token);
    weights.push_back(weight);
  }
  if (type == TokenType::int4) {
    add_set(join, side, std::span(tokens), weights.data());
  } else if (type == TokenType::int8) {
    std::reverse(tokens.begin(), tokens.end());
    std::reverse(weights.begin(), weights.end());
    std::vector<int64_t> wide;
    for (const int32_t token : tokens) wide.push_back(int64_t{token} * 1'000'000'007);
    add_set(join, side, std::span(wide), weights.data());
  } else {
    std::vector<std::string> texts;
    for (const int32_t token : tokens) texts.push_back("token " + std::to_string(token));
    add_set(join, side, std::span(texts), weights.data());
  }
  if (join.wants_spill_file()) join.set_spill_file(unlinked_file(), UINT64_MAX);
}

inline void feed_sets(JoinEngine &join, const Collection &input, TokenType type = TokenType::int4) {
  for (const Weighted &set : input.left) add_set(join, Side::left, set, type);
  if (!input.self_join)
    for (const Weighted &set : input.right) add_set(join, Side::right, set, type);
}

inline std::vector<Found> pull_similarities(JoinEngine &join) {
  std::vector<Found> pairs;
  Batch batch;
  for (StepResult result; (result = join.step(std::chrono::milliseconds(10), batch)) != StepResult::done;) {
    if (result != StepResult::batch) continue;
    EXPECT_EQ(batch.similarity.size(), batch.size());
    for (size_t i = 0; i < batch.size(); ++i)
      pairs.push_back({batch.left[i], batch.right[i], batch.similarity[i]});
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// The ways in which the random weights of a test are made.
enum class Weights { ones, tenths, any, wild, sums };

class RandomWeights {
 public:
  explicit RandomWeights(uint64_t seed) : generator_(seed) {}

  double weight(Weights kind) {
    const auto tenth = [&] { return static_cast<double>(static_cast<float>(below(10)) / 10.0f); };
    switch (kind) {
      case Weights::ones:
        return 1;
      case Weights::tenths:
        return tenth();
      case Weights::any:
        return static_cast<float>(std::ldexp(1.0 + below(1 << 20), -15));
      case Weights::wild:
        return static_cast<float>(std::ldexp(1.0 + below(1 << 20), static_cast<int>(below(240)) - 149));
      case Weights::sums:
        return tenth() + tenth() + tenth();
    }
    return 0;
  }
  Weighted set(Weights kind, uint32_t size, uint32_t universe) {
    Weighted result;
    while (result.size() < size) result[static_cast<int32_t>(below(universe)) - 3] = weight(kind);
    return result;
  }
  // Returns a set that differs in few tokens.
  Weighted near(const Weighted &set, Weights kind, uint32_t changes, uint32_t universe) {
    Weighted result = set;
    for (uint32_t i = 0; i < changes; ++i) {
      if (below(3) == 0 && !result.empty()) {
        result.erase(std::next(result.begin(), below(static_cast<uint32_t>(result.size()))));
      } else {
        result[static_cast<int32_t>(below(universe)) - 3] = weight(kind);
      }
    }
    return result;
  }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(generator_() % end); }

 private:
  std::mt19937_64 generator_;
};

inline Collection random_collection(RandomWeights &random, Weights kind, bool self_join, uint32_t rows,
                                    Measure measure = Measure::jaccard) {
  constexpr uint32_t sizes[] = {0, 1, 2, 5, 31, 32, 33, 100, 140};
  Collection input;
  input.self_join = self_join;
  input.measure = measure;
  const uint32_t universe = 150 + random.below(400);
  for (int side = 0; side < (self_join ? 1 : 2); ++side) {
    std::vector<Weighted> &sets = side == 0 ? input.left : input.right;
    for (uint32_t row = 0; row < rows; ++row) {
      const std::vector<Weighted> &known = random.below(2) == 0 || sets.empty() ? input.left : sets;
      if (known.empty() || random.below(3) == 0) {
        sets.push_back(random.set(kind, sizes[random.below(std::size(sizes))], universe));
      } else {
        sets.push_back(random.near(known[random.below(static_cast<uint32_t>(known.size()))], kind,
                                   random.below(8), universe));
      }
    }
  }
  return input;
}

inline constexpr Weights all_kinds[] = {Weights::ones, Weights::tenths, Weights::any, Weights::wild,
                                        Weights::sums};

}  // namespace simjoin::test
