// Thresholds at and beyond the ends of a measure's range.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

class ThresholdTest : public testing::TestWithParam<Algorithm> {
 protected:
  // Both kinds of input, with empty sets among them.
  static std::vector<Input<int32_t>> inputs() {
    const Shape shape{"", 60, shapes::with_empty_sets};
    return {self_input(shape, 11), two_sided_input(shape, 12)};
  }

  static void expect_oracle_pairs(Measure measure, double threshold) {
    for (const Input<int32_t> &input : inputs()) {
      EXPECT_EQ(difference(Oracle<int32_t>(input).join(measure, threshold),
                           run(make_spec(GetParam(), measure, threshold), input)),
                "")
          << name_of(measure) << " >= " << threshold << (input.self_join ? ", self-join" : "");
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Every, ThresholdTest, testing::ValuesIn(all_algorithms),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(ThresholdTest, ZeroAndLessTakeEveryPair) {
  for (Measure measure : all_measures) {
    for (double threshold : {0.0, -0.0, -0.5, -1e300, -infinity}) {
      for (const Input<int32_t> &input : inputs()) {
        const size_t rows = input.left.size();
        const size_t all = input.self_join ? rows * (rows - 1) / 2 : rows * input.right.size();
        EXPECT_EQ(run(make_spec(GetParam(), measure, threshold), input).size(), all)
            << name_of(measure) << " >= " << threshold;
      }
      expect_oracle_pairs(measure, threshold);
    }
  }
}

TEST_P(ThresholdTest, NotANumberTakesNoPair) {
  for (Measure measure : all_measures) {
    for (const Input<int32_t> &input : inputs()) {
      EXPECT_TRUE(run(make_spec(GetParam(), measure, not_a_number), input).empty()) << name_of(measure);
    }
  }
}

TEST_P(ThresholdTest, InfinityTakesNoPair) {
  for (Measure measure : all_measures) {
    for (const Input<int32_t> &input : inputs()) {
      EXPECT_TRUE(run(make_spec(GetParam(), measure, infinity), input).empty()) << name_of(measure);
    }
  }
}

TEST_P(ThresholdTest, AboveOneTakesNoPairButForOverlap) {
  for (double threshold : {std::nextafter(1.0, 2.0), 1.5, 1e300}) {
    for (Measure measure : all_measures) {
      if (measure == Measure::overlap) continue;
      for (const Input<int32_t> &input : inputs()) {
        EXPECT_TRUE(run(make_spec(GetParam(), measure, threshold), input).empty()) << name_of(measure);
      }
    }
    expect_oracle_pairs(Measure::overlap, threshold);
  }
}

TEST_P(ThresholdTest, TheLeastPositiveTakesEveryPairThatSharesAToken) {
  for (Measure measure : all_measures) {
    for (double threshold : {std::numeric_limits<double>::denorm_min(), 1e-300, 1e-9}) {
      expect_oracle_pairs(measure, threshold);
    }
  }
}

TEST_P(ThresholdTest, ExactlyOneTakesEqualSets) {
  for (Measure measure : all_measures) expect_oracle_pairs(measure, 1.0);
}

TEST_P(ThresholdTest, OverlapCounts) {
  for (double threshold : {0.5, 1.0, 1.5, 2.0, 5.0, 1000.0}) expect_oracle_pairs(Measure::overlap, threshold);
}

TEST_P(ThresholdTest, NeighboursOfAFractionDiffer) {
  Input<int32_t> input;
  input.left = {{1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 8}, {1, 2, 3, 4, 5, 6}};
  input.self_join = true;
  for (Measure measure : all_measures) {
    if (measure == Measure::overlap) continue;
    for (const Pair &pair : Oracle<int32_t>(input).join(measure, 0.1)) {
      const auto size = [&](uint32_t row) { return static_cast<int64_t>(input.left[row].size()); };
      const double exact = similarity(unordered(measure), pair.overlap, size(pair.left), size(pair.right));
      for (double threshold : {std::nextafter(exact, 0.0), exact, std::nextafter(exact, 2.0)}) {
        const std::vector<Pair> found = run(make_spec(GetParam(), measure, threshold), input);
        EXPECT_EQ(std::count(found.begin(), found.end(), pair), threshold <= exact ? 1 : 0)
            << name_of(measure) << " >= " << threshold;
      }
    }
  }
}

// Sets that share as many tokens as they must, or one less. All their other tokens are in no other set.
TEST_P(ThresholdTest, SetsOfTokensInNoOtherSetKeepTheirPartners) {
  constexpr int sizes[] = {1, 2, 3, 4, 9, 10, 11, 19, 21};
  for (Measure measure : all_measures) {
    for (double threshold : {0.9, 0.5, 3.0}) {
      if ((threshold > 1) != (measure == Measure::overlap)) continue;
      const Bounds bounds(measure, threshold);
      Input<int32_t> input{{}, {}, true};
      int32_t next = 0;
      for (const int r : sizes) {
        for (const int s : sizes) {
          const int64_t least = bounds.min_overlap(r, s);
          for (const int64_t overlap : {least - 1, least}) {
            if (overlap > std::min(r, s)) continue;
            IntSet left;
            while (std::ssize(left) < overlap) left.push_back(next++);
            IntSet right = left;
            while (std::ssize(left) < r) left.push_back(next++);
            while (std::ssize(right) < s) right.push_back(next++);
            input.left.push_back(left);
            input.left.push_back(right);
          }
        }
      }
      Input<int32_t> two_sided;
      for (size_t i = 0; i < input.left.size(); ++i) {
        (i % 2 == 0 ? two_sided.left : two_sided.right).push_back(input.left[i]);
      }
      for (const Input<int32_t> &each : {input, two_sided}) {
        const std::vector<Pair> pairs = run(make_spec(GetParam(), measure, threshold), each);
        EXPECT_GT(pairs.size(), 10u);
        EXPECT_EQ(difference(Oracle<int32_t>(each).join(measure, threshold), pairs), "")
            << name_of(measure) << " >= " << threshold << (each.self_join ? ", self-join" : "");
      }
    }
  }
}

}  // namespace
}  // namespace simjoin::test
