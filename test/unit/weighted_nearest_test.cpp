// Right rows by descending similarity of sets with weights, for one left row after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/nearest/weighted_nearest.hpp"
#include "core/set_slices.hpp"

namespace simjoin::test {
namespace {

using HeavySet = std::map<int64_t, double>;

struct HeavyPair {
  double similarity;
  uint32_t row;
  bool operator==(const HeavyPair &) const = default;
};

std::ostream &operator<<(std::ostream &out, const HeavyPair &pair) {
  return out << pair.similarity << " row " << pair.row;
}

// Weights of a few small numbers, of fractions, or of such different sizes that doubles round their sums.
double some_weight(std::mt19937 &random, int kind) {
  const auto number = static_cast<double>(random() % 5);
  if (kind == 0) return number;
  if (kind == 1) return static_cast<double>(static_cast<float>(number / 7));
  return static_cast<double>(std::ldexp(static_cast<float>(number), static_cast<int>(random() % 80) - 40));
}

std::vector<HeavySet> heavy_sets(size_t count, uint32_t largest, int kind, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<HeavySet> sets(count);
  for (HeavySet &set : sets)
    for (uint32_t i = random() % (largest + 1); i > 0; --i)
      set[random() % (1 + random() % 60)] = some_weight(random, kind);
  return sets;
}

void add_heavy(RowSearch &join, Side side, const HeavySet &set, bool texts) {
  std::vector<int64_t> tokens;
  std::vector<double> weights;
  TextPacker packer;
  for (const auto &[token, weight] : set) {
    tokens.push_back(token);
    weights.push_back(weight);
    packer.add("token " + std::to_string(token));
  }
  const auto size = static_cast<uint32_t>(tokens.size());
  const PackedTexts packed = packer.texts();
  if (texts)
    join.add(side, row_of(packed, weights.data()));
  else
    join.add(side, row_of(std::span<const int64_t>(tokens), size, weights.data()));
}

double exact_similarity_of(const HeavySet &left, const HeavySet &right, Measure measure) {
  ExactSum least, most;
  ExactProducts products, left_squares, right_squares;
  for (const auto &[token, weight] : left) {
    const auto other = right.find(token);
    const double of_other = other == right.end() ? 0 : other->second;
    least.add(std::min(weight, of_other));
    most.add(std::max(weight, of_other));
    products.add(weight, of_other);
    left_squares.add(weight, weight);
  }
  for (const auto &[token, weight] : right) {
    right_squares.add(weight, weight);
    if (left.count(token) == 0) most.add(weight);
  }
  return measure == Measure::cosine
             ? weighted_cosine(products.rounded(), left_squares.rounded(), right_squares.rounded())
             : weighted_jaccard(least.rounded(), most.rounded());
}

std::vector<HeavyPair> all_pairs_of(const HeavySet &left, const std::vector<HeavySet> &rights,
                                    Measure measure) {
  std::vector<HeavyPair> pairs;
  for (uint32_t row = 0; row < rights.size(); ++row) {
    const double similarity = exact_similarity_of(left, rights[row], measure);
    if (similarity > 0) pairs.push_back({similarity, row});
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const HeavyPair &a, const HeavyPair &b) { return a.similarity > b.similarity; });
  return pairs;
}

std::vector<HeavyPair> found_pairs(RowSearch &join) {
  std::vector<HeavyPair> pairs;
  Batch batch;
  while (join.step(std::chrono::microseconds(1000), batch) != StepResult::done)
    for (size_t i = 0; i < batch.size(); ++i) pairs.push_back({batch.similarity[i], batch.right[i]});
  return pairs;
}

class HeavyNearest : public ::testing::TestWithParam<std::tuple<Measure, int, bool>> {};

TEST_P(HeavyNearest, GivesAllSimilarRowsInOrder) {
  const auto [measure, kind, texts] = GetParam();
  const std::vector<HeavySet> rights = heavy_sets(300, 12, kind, 1), lefts = heavy_sets(60, 14, kind, 2);
  WeightedNearest join(measure);
  for (const HeavySet &set : rights) add_heavy(join, Side::right, set, texts);
  EXPECT_GT(join.bytes_to_index(), 0U);
  join.index(StopFlag());
  for (size_t left = 0; left < lefts.size(); ++left) {
    const std::vector<HeavyPair> all = all_pairs_of(lefts[left], rights, measure);
    add_heavy(join, Side::left, lefts[left], texts);
    join.limit(1 + left % 7, 0);
    EXPECT_EQ(found_pairs(join), all);
    std::vector<bool> shares(rights.size());
    for (const HeavyPair &pair : all) shares[pair.row] = true;
    for (uint32_t row = 0; row < rights.size(); ++row) EXPECT_EQ(join.shares_tokens(row), shares[row]);
    if (all.empty()) continue;
    // With a bound.
    const double least = all[all.size() / 3].similarity;
    add_heavy(join, Side::left, lefts[left], texts);
    join.limit(UINT32_MAX, least);
    std::vector<HeavyPair> near;
    for (const HeavyPair &pair : all)
      if (pair.similarity >= least) near.push_back(pair);
    EXPECT_EQ(found_pairs(join), near);
  }
}

INSTANTIATE_TEST_SUITE_P(Measures, HeavyNearest,
                         ::testing::Combine(::testing::Values(Measure::jaccard, Measure::cosine),
                                            ::testing::Values(0, 1, 2), ::testing::Bool()));

TEST(HeavyNearestRows, AreNotAllVerified) {
  const std::vector<HeavySet> rights = heavy_sets(2000, 12, 1, 3);
  WeightedNearest join(Measure::jaccard);
  for (const HeavySet &set : rights) add_heavy(join, Side::right, set, false);
  join.index(StopFlag());
  for (const HeavySet &set : rights) {
    add_heavy(join, Side::left, set, false);
    Batch batch;
    join.step(std::chrono::microseconds(1000), batch);
  }
  EXPECT_LT(join.stats().verified, rights.size() * rights.size() / 8);
}

}  // namespace
}  // namespace simjoin::test
