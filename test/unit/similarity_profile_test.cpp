// Profiles of thresholds: exact ones against each threshold alone, and estimates with their errors.
#include "core/dedup/similarity_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace simjoin {
namespace {

struct Pair {
  uint32_t a, b;
  double similarity;
};

std::vector<Pair> draw_pairs(uint32_t rows, size_t count, std::mt19937 &random) {
  std::map<std::pair<uint32_t, uint32_t>, double> pairs;
  while (pairs.size() < count) {
    const auto a = static_cast<uint32_t>(random() % rows), b = static_cast<uint32_t>(random() % rows);
    if (a < b) pairs[{a, b}] = static_cast<double>(50 + random() % 51) / 100;
  }
  std::vector<Pair> list;
  for (const auto &[rows_of_pair, similarity] : pairs)
    list.push_back({rows_of_pair.first, rows_of_pair.second, similarity});
  std::shuffle(list.begin(), list.end(), random);
  return list;
}

// Returns what a threshold finds, by labels of rows that pairs make equal.
ProfileLevel naive_level(uint32_t rows, const std::vector<Pair> &pairs, double threshold) {
  std::vector<uint32_t> labels(rows);
  for (uint32_t row = 0; row < rows; ++row) labels[row] = row;
  std::set<uint32_t> with_partner, groups;
  uint64_t count = 0;
  for (const Pair &pair : pairs) {
    if (pair.similarity < threshold) continue;
    ++count;
    with_partner.insert({pair.a, pair.b});
    std::replace(labels.begin(), labels.end(), uint32_t{labels[pair.a]}, uint32_t{labels[pair.b]});
  }
  for (const uint32_t row : with_partner) groups.insert(labels[row]);
  return {count, 0, 0, with_partner.size(), 0, groups.size()};
}

TEST(SimilarityProfile, CountsWhatEachThresholdFinds) {
  const StopFlag stop;
  std::mt19937 random(1);
  for (const uint32_t rows : {2U, 10U, 300U}) {
    const std::vector<double> thresholds = {1, 0.9, 0.75, 0.7, 0.5};
    const auto pairs = draw_pairs(rows, std::min<size_t>(rows * (rows - 1) / 2, rows), random);
    MemoryCounter memory;
    SimilarityProfile profile(thresholds, memory);
    profile.look_at_all(rows, stop);
    for (const Pair &pair : pairs) profile.add_pair(pair.a, pair.b, pair.similarity);
    for (const double threshold : thresholds) {
      const ProfileLevel expected = naive_level(rows, pairs, threshold), level = profile.next_level();
      EXPECT_EQ(level.pairs, expected.pairs) << threshold;
      EXPECT_EQ(level.rows, expected.rows) << threshold;
      EXPECT_EQ(level.groups, expected.groups) << threshold;
      EXPECT_EQ(level.pairs_error + level.rows_error, 0U);
    }
  }
}

TEST(SimilarityProfile, CountsNothingOfNoRows) {
  MemoryCounter memory;
  SimilarityProfile profile({0.5}, memory);
  profile.look_at_all(0, StopFlag());
  EXPECT_EQ(profile.next_level().groups, 0U);
}

// A tenth of the rows: 10 have a partner above 0.9, and 40 more have two between 0.5 and 0.9.
TEST(SimilarityProfile, EstimatesFromASample) {
  MemoryCounter memory;
  SimilarityProfile profile({0.9, 0.5}, memory);
  profile.look_at_sample(100, 1000, StopFlag());
  for (uint32_t row = 0; row < 10; ++row) profile.add_partner(row, 0.9);
  for (uint32_t row = 10; row < 50; ++row)
    for (const double similarity : {0.5, 0.89}) profile.add_partner(row, similarity);
  const ProfileLevel high = profile.next_level(), low = profile.next_level();
  EXPECT_EQ(high.pairs, 50U);
  EXPECT_EQ(high.rows, 100U);
  EXPECT_EQ(low.pairs, 450U);
  EXPECT_EQ(low.rows, 500U);
  EXPECT_FALSE(high.groups || low.groups);
  // By the usual formula the errors of rows are 1000 sqrt(0.9 p (1 - p) / 100), which is 28.5 and 47.4.
  EXPECT_NEAR(static_cast<double>(high.rows_error), 28.5, 3);
  EXPECT_NEAR(static_cast<double>(low.rows_error), 47.4, 2);
  EXPECT_NEAR(static_cast<double>(high.pairs_error), 14.25, 2);
}

// 50 rows with equal sets, 5 of them in the sample and with other partners, too, and as many rows with other
// partners only.
TEST(SimilarityProfile, EstimatesWithoutEqualSets) {
  MemoryCounter memory;
  SimilarityProfile profile({0.9, 0.5}, memory);
  profile.look_at_sample(100, 1000, StopFlag());
  profile.add_equal_rows(50, 1);
  profile.add_equal_rows(50, 0.4);  // not reached
  for (uint32_t row = 0; row < 10; ++row) profile.add_partner(row, 0.7);
  for (uint32_t row = 0; row < 5; ++row)
    for (int partner = 0; partner < 49; ++partner) profile.add_equal_partner(row, 1);
  const ProfileLevel high = profile.next_level(), low = profile.next_level();
  EXPECT_EQ(high.equal_pairs, 1225U);
  EXPECT_EQ(high.pairs, 1225U);
  EXPECT_EQ(high.rows, 50U);
  EXPECT_EQ(low.equal_pairs, 1225U);
  EXPECT_EQ(low.pairs, 1225U + 50U);
  EXPECT_EQ(low.rows, 50U + 50U);
  EXPECT_GT(high.pairs_error, 0U);
  EXPECT_LT(low.pairs_error, 50U);
}

TEST(SimilarityProfile, KnowsNothingForCertainFromASample) {
  for (const uint32_t found : {0U, 100U}) {
    MemoryCounter memory;
    SimilarityProfile profile({0.5}, memory);
    profile.look_at_sample(100, 10000, StopFlag());
    for (uint32_t row = 0; row < found; ++row) profile.add_partner(row, 0.7);
    const ProfileLevel level = profile.next_level();
    EXPECT_EQ(level.rows, found * 100);
    // With 2.8 of 100 rows more or less, such a sample is drawn in 6 of 100 cases.
    EXPECT_GE(2 * level.rows_error, 260U);
    EXPECT_LE(2 * level.rows_error, 300U);
    EXPECT_GT(level.pairs_error, 0U);
  }
}

TEST(SimilarityProfile, KeepsToItsMemory) {
  MemoryCounter memory;
  memory.set_limit(size_t{1} << 20, {"the profile needs", "ask for less"});
  SimilarityProfile profile({0.9, 0.5}, memory);
  EXPECT_ANY_THROW(profile.look_at_all(1'000'000, StopFlag()));
  EXPECT_ANY_THROW(profile.look_at_sample(1'000'000, 10'000'000, StopFlag()));
  EXPECT_LE(memory.peak(), size_t{1} << 20);
}

}  // namespace
}  // namespace simjoin
