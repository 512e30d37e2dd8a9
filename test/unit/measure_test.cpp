// The similarity function against exact arithmetic, and the integer bounds against brute force.
#include "core/measure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "unit/drive.hpp"

namespace simjoin::test {
namespace {

constexpr int64_t brute_size = 60;

std::vector<double> thresholds_around(double threshold) {
  return {std::nextafter(threshold, 0.0), threshold, std::nextafter(threshold, 10.0)};
}

// Thresholds in and beyond (0, 1]: customary ones and fractions, each with its two neighbours.
std::vector<double> fractional_thresholds() {
  std::vector<double> all = {1e-300, 1e-9, 0.01,  1.0 / 3.0,
                             1.5,    2.0,  100.0, std::numeric_limits<double>::infinity()};
  for (double threshold :
       {0.05, 0.1, 0.3, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0}) {
    for (double close : thresholds_around(threshold)) all.push_back(close);
  }
  for (int n : {7, 11, 38, 59}) {
    for (int k = 1; k <= n; k += 5) {
      for (double close : thresholds_around(static_cast<double>(k) / n)) all.push_back(close);
    }
  }
  return all;
}

std::vector<double> overlap_thresholds() {
  std::vector<double> all = {1e-300, 0.5, 2.5, 1000.0, std::numeric_limits<double>::infinity()};
  for (double threshold : {1.0, 2.0, 5.0, 17.0, 59.0, 60.0, 61.0}) {
    for (double close : thresholds_around(threshold)) all.push_back(close);
  }
  return all;
}

std::vector<double> border_thresholds(Measure measure) {
  return measure == Measure::overlap ? overlap_thresholds() : fractional_thresholds();
}

// Returns the smallest overlap in 1 .. min(r, s) with similarity >= threshold, or min(r, s) + 1, by trying
// all.
int64_t brute_min_overlap(Measure measure, double threshold, int64_t r, int64_t s) {
  int64_t overlap = 1;
  while (overlap <= std::min(r, s) && !(similarity(measure, overlap, r, s) >= threshold)) ++overlap;
  return overlap;
}

bool can_match(Measure measure, double threshold, int64_t r, int64_t s) {
  return brute_min_overlap(measure, threshold, r, s) <= std::min(r, s);
}

std::string describe(double threshold, int64_t r) {
  return "threshold " + std::to_string(threshold) + ", size " + std::to_string(r);
}

class MeasureTest : public testing::TestWithParam<Measure> {};

INSTANTIATE_TEST_SUITE_P(Every, MeasureTest, testing::ValuesIn(all_measures),
                         [](const auto &info) { return name_of(info.param); });

TEST(Similarity, KnownValues) {
  EXPECT_EQ(similarity(Measure::jaccard, 18, 19, 19), 0.9);
  EXPECT_EQ(similarity(Measure::jaccard, 1, 1, 3), 1.0 / 3.0);
  EXPECT_EQ(similarity(Measure::cosine, 6, 4, 9), 1.0);
  EXPECT_EQ(similarity(Measure::cosine, 3, 4, 9), 0.5);
  EXPECT_EQ(similarity(Measure::dice, 3, 4, 6), 0.6);
  EXPECT_EQ(similarity(Measure::overlap, 3, 4, 6), 3.0);
  EXPECT_EQ(similarity(Measure::overlap_coefficient, 3, 6, 4), 0.75);
  EXPECT_EQ(similarity(Measure::containment, 3, 4, 6), 0.75);
  EXPECT_EQ(similarity(Measure::reverse_containment, 3, 4, 6), 0.5);
}

TEST_P(MeasureTest, EmptySetsHaveNoSimilarity) {
  EXPECT_EQ(similarity(GetParam(), 0, 0, 0), 0.0);
  EXPECT_EQ(similarity(GetParam(), 0, 5, 0), 0.0);
  EXPECT_EQ(similarity(GetParam(), 0, 0, 5), 0.0);
  EXPECT_EQ(similarity(GetParam(), 0, 5, 5), 0.0);
}

// Returns whether o shared tokens of r and s reach k/n, in integer arithmetic.
bool reaches(Measure measure, int64_t o, int64_t r, int64_t s, int64_t k, int64_t n) {
  switch (measure) {
    case Measure::jaccard:
      return o * n >= k * (r + s - o);
    case Measure::cosine:
      return o * o * n * n >= k * k * r * s;
    case Measure::dice:
      return 2 * o * n >= k * (r + s);
    case Measure::overlap_coefficient:
      return o * n >= k * std::min(r, s);
    case Measure::containment:
      return o * n >= k * r;
    case Measure::reverse_containment:
      return o * n >= k * s;
    case Measure::overlap:
      break;
  }
  return o * n >= k;
}

TEST_P(MeasureTest, AgreesWithExactFractions) {
  constexpr int64_t fractions[][2] = {{11, 20}, {13, 20}, {7, 10}, {4, 5}, {9, 10},  {1, 1}, {1, 2},
                                      {1, 3},   {2, 3},   {5, 7},  {3, 4}, {19, 20}, {5, 1}};
  for (const auto &[k, n] : fractions) {
    const Bounds bounds(GetParam(), static_cast<double>(k) / static_cast<double>(n));
    for (int64_t r = 1; r <= brute_size; ++r) {
      for (int64_t s = 1; s <= brute_size; ++s) {
        for (int64_t o = 1; o <= std::min(r, s); ++o) {
          ASSERT_EQ(bounds.satisfied(o, r, s), reaches(GetParam(), o, r, s, k, n))
              << o << " of " << r << " + " << s << " at " << k << "/" << n;
        }
      }
    }
  }
}

TEST_P(MeasureTest, OfUnorderedSetsIsTheLargerOfBothOrders) {
  for (int64_t r = 0; r <= brute_size; ++r) {
    for (int64_t s = 0; s <= brute_size; ++s) {
      for (int64_t o = 0; o <= std::min(r, s); ++o) {
        const double one = similarity(GetParam(), o, r, s), other = similarity(GetParam(), o, s, r);
        ASSERT_EQ(similarity(unordered(GetParam()), o, r, s), std::max(one, other));
        ASSERT_EQ(similarity(reversed(GetParam()), o, r, s), other);
        if (is_symmetric(GetParam())) {
          ASSERT_EQ(one, other);
        }
      }
    }
  }
}

TEST_P(MeasureTest, MinOverlapIsTheSmallestThatSatisfies) {
  for (double threshold : border_thresholds(GetParam())) {
    const Bounds bounds(GetParam(), threshold);
    for (int64_t r = 1; r <= brute_size; ++r) {
      for (int64_t s = 1; s <= brute_size; ++s) {
        ASSERT_EQ(bounds.min_overlap(r, s), brute_min_overlap(GetParam(), threshold, r, s))
            << describe(threshold, r) << " with " << s;
      }
    }
  }
}

TEST_P(MeasureTest, MinPartnerIsTheSmallestThatCanMatch) {
  for (double threshold : border_thresholds(GetParam())) {
    const Bounds bounds(GetParam(), threshold);
    for (int64_t r = 1; r <= brute_size; ++r) {
      int64_t expected = 1;
      while (expected <= r && !can_match(GetParam(), threshold, r, expected)) ++expected;
      ASSERT_EQ(bounds.min_partner(r), expected) << describe(threshold, r);
    }
  }
}

TEST_P(MeasureTest, MaxPartnerIsTheLargestThatCanMatch) {
  for (double threshold : border_thresholds(GetParam())) {
    const Bounds bounds(GetParam(), threshold);
    for (int64_t largest : {int64_t{30}, brute_size, 3 * brute_size}) {
      for (int64_t r = 1; r <= std::min(brute_size, largest); ++r) {
        int64_t expected = r - 1;
        for (int64_t s = r; s <= largest; ++s) {
          if (can_match(GetParam(), threshold, r, s)) expected = s;
        }
        ASSERT_EQ(bounds.max_partner(r, largest), expected) << describe(threshold, r) << " up to " << largest;
      }
    }
  }
}

// A prefix of p tokens misses a partner that shares only the other r - p tokens. So the prefix is long enough
// exactly if no partner of that size or larger matches with an overlap of r - p.
TEST_P(MeasureTest, PrefixLengthIsTheShortestThatMissesNoPartner) {
  for (double threshold : border_thresholds(GetParam())) {
    const Bounds bounds(GetParam(), threshold);
    for (int64_t r = 1; r <= brute_size; ++r) {
      int64_t expected = 0;
      for (int64_t partner = 2 * brute_size; partner >= 1; --partner) {
        const int64_t overlap = brute_min_overlap(GetParam(), threshold, r, partner);
        if (overlap <= std::min(r, partner)) expected = std::max(expected, r - overlap + 1);
        const int64_t actual = bounds.prefix_length(r, partner);
        ASSERT_GE(actual, expected) << describe(threshold, r) << " from " << partner;
        if (partner >= r || can_match(GetParam(), threshold, r, partner)) {
          ASSERT_EQ(actual, expected) << describe(threshold, r) << " from " << partner;
        }
      }
    }
  }
}

TEST_P(MeasureTest, BoundsAreMonotone) {
  for (double threshold : border_thresholds(GetParam())) {
    const Bounds bounds(GetParam(), threshold);
    for (int64_t r = 1; r < brute_size; ++r) {
      for (int64_t s = 1; s < brute_size; ++s) {
        ASSERT_LE(bounds.min_overlap(r, s), bounds.min_overlap(r, s + 1)) << describe(threshold, r);
        ASSERT_EQ(bounds.min_overlap(r, s), bounds.reversed().min_overlap(s, r)) << describe(threshold, r);
      }
      ASSERT_LE(bounds.min_partner(r), bounds.min_partner(r + 1)) << describe(threshold, r);
      ASSERT_LE(bounds.max_partner(r, 1000), bounds.max_partner(r + 1, 1000)) << describe(threshold, r);
    }
  }
}

std::vector<int64_t> large_sizes() {
  std::vector<int64_t> sizes;
  for (int bit = 8; bit <= 28; bit += 4) {
    for (int64_t offset : {-1, 0, 1}) sizes.push_back((int64_t{1} << bit) + offset);
  }
  for (int64_t size : {1000, 1'000'000, 123'456'789, 200'000'000}) sizes.push_back(size);
  return sizes;
}

TEST_P(MeasureTest, BoundsOfLargeSetsAreTight) {
  for (double threshold : border_thresholds(GetParam())) {
    if (threshold < 1e-3 || (GetParam() != Measure::overlap && threshold > 1.1)) continue;
    const Bounds bounds(GetParam(), threshold);
    for (int64_t r : large_sizes()) {
      for (int64_t s : large_sizes()) {
        const int64_t overlap = bounds.min_overlap(r, s);
        ASSERT_GE(overlap, 1);
        ASSERT_LE(overlap, std::min(r, s) + 1);
        if (overlap <= std::min(r, s)) {
          ASSERT_TRUE(bounds.satisfied(overlap, r, s)) << describe(threshold, r);
        }
        if (overlap > 1) {
          ASSERT_FALSE(bounds.satisfied(overlap - 1, r, s)) << describe(threshold, r);
        }
      }
      const int64_t smallest = bounds.min_partner(r);
      if (smallest <= r) {
        ASSERT_TRUE(bounds.satisfied(smallest, r, smallest)) << describe(threshold, r);
      }
      if (smallest > 1) {
        ASSERT_FALSE(bounds.satisfied(smallest - 1, r, smallest - 1)) << describe(threshold, r);
      }
      constexpr int64_t limit = int64_t{1} << 40;
      const int64_t largest = bounds.max_partner(r, limit);
      if (largest >= r) {
        ASSERT_TRUE(bounds.satisfied(r, r, largest)) << describe(threshold, r);
      }
      if (largest < limit) {
        ASSERT_FALSE(bounds.satisfied(r, r, largest + 1)) << describe(threshold, r);
      }
    }
  }
}

TEST(JaccardDistanceTest, IsRoundedOnce) {
  EXPECT_EQ(jaccard_distance(7, 7, 10), 0.3);
  EXPECT_EQ(jaccard_distance(17, 20, 17), 0.15);
  EXPECT_EQ(jaccard_distance(19, 19, 20), 0.05);
  EXPECT_EQ(jaccard_distance(3, 5, 4), 0.5);
  EXPECT_EQ(jaccard_distance(4, 4, 4), 0.0);
  EXPECT_EQ(jaccard_distance(0, 4, 4), 1.0);
  EXPECT_EQ(jaccard_distance(0, 0, 0), 1.0);
  for (int64_t hundredths = 0; hundredths <= 100; ++hundredths) {
    const double decimal = std::stod(std::to_string(hundredths) + "e-2");
    EXPECT_EQ(jaccard_distance(100 - hundredths, 100, 100 - hundredths), decimal);
  }
}

// Checks the bound for two sets by their total number of tokens.
void expect_within(double distance, int64_t overlap, int64_t together) {
  const double least = least_similarity_within(distance);
  const double similar = similarity(Measure::jaccard, overlap, overlap, together);
  const double apart = jaccard_distance(overlap, overlap, together);
  if (apart <= distance && overlap > 0) {
    EXPECT_GE(similar, least) << distance << ": " << overlap << " of " << together;
  }
  if (similar >= least) {
    EXPECT_LE(apart, distance + 0x1.0p-50) << distance << ": " << overlap << " of " << together;
  }
}

TEST(JaccardDistanceTest, NoSetsWithinAreBelowTheLeastSimilarity) {
  for (double distance : fractional_thresholds()) {
    for (int64_t together = 1; together <= brute_size; ++together) {
      for (int64_t overlap = 0; overlap <= together; ++overlap) expect_within(distance, overlap, together);
    }
  }
  // With this number of tokens, one similarity stands for several distances, and the other way round.
  for (int64_t together : {(int64_t{1} << 31) - 1, (int64_t{1} << 33) - 9}) {
    for (int64_t overlap = 1; overlap < together; overlap += overlap / 97 + 1) {
      const double distance = jaccard_distance(overlap, overlap, together);
      for (double close : {distance, std::nextafter(distance, 1.0)}) expect_within(close, overlap, together);
      expect_within(distance, overlap + 1, together + 1);
    }
  }
}

}  // namespace
}  // namespace simjoin::test
