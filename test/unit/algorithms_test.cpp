// Every algorithm, measure and number of threads against the naive join, over collections of every shape.
#include <gtest/gtest.h>

#include <tuple>

#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr int many_threads = 5;

std::vector<double> thresholds_for(Measure measure) {
  if (measure == Measure::overlap) return {1.0, 2.0, 4.5, 9.0, 18.0, 64.0};
  return {0.05, 0.3, 0.5, 0.55, 0.65, 0.7, 0.8, 0.9, 1.0};
}

class AlgorithmTest : public testing::TestWithParam<std::tuple<Shape, Algorithm>> {
 protected:
  static void expect_oracle_pairs(const Input<int32_t> &input, Algorithm algorithm) {
    const Oracle<int32_t> oracle(input);
    const Input<int32_t> many = with_unrelated_rows(input);
    bool alone = false;
    for (Measure measure : all_measures) {
      for (double threshold : thresholds_for(measure)) {
        alone = !alone;  // so the next measure has the other way at the same threshold
        const int threads = alone ? 1 : many_threads;
        JoinStats stats;
        const std::vector<Pair> actual =
            run(make_spec(algorithm, measure, threshold, threads), alone ? input : many, &stats);
        EXPECT_EQ(difference(oracle.join(measure, threshold), actual), "")
            << name_of(measure) << " >= " << threshold << " with " << threads << " threads";
        EXPECT_EQ(stats.threads, threads);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Every, AlgorithmTest,
                         testing::Combine(testing::ValuesIn(all_shapes), testing::ValuesIn(all_algorithms)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST_P(AlgorithmTest, SelfJoinEqualsOracle) {
  const auto &[shape, algorithm] = GetParam();
  expect_oracle_pairs(self_input(shape, 1), algorithm);
}

TEST_P(AlgorithmTest, TwoSidedJoinEqualsOracle) {
  const auto &[shape, algorithm] = GetParam();
  expect_oracle_pairs(two_sided_input(shape, 2), algorithm);
}

TEST_P(AlgorithmTest, TokensInTheOrderOfTheirFrequencyEqualOracle) {
  const auto &[shape, algorithm] = GetParam();
  for (const bool self_join : {true, false}) {
    Input<int32_t> input = self_join ? self_input(shape, 4) : two_sided_input(shape, 5);
    number_by_frequency(input, -1'000);
    expect_oracle_pairs(input, algorithm);
  }
}

TEST_P(AlgorithmTest, SidesOfVeryDifferentSizesEqualOracle) {
  const auto &[shape, algorithm] = GetParam();
  Input<int32_t> input = two_sided_input(shape, 3);
  input.right.resize(std::min<size_t>(input.right.size(), 3));
  expect_oracle_pairs(input, algorithm);
  std::swap(input.left, input.right);
  expect_oracle_pairs(input, algorithm);
}

class EachAlgorithm : public testing::TestWithParam<Algorithm> {};

INSTANTIATE_TEST_SUITE_P(Every, EachAlgorithm, testing::ValuesIn(all_algorithms),
                         [](const auto &info) { return name_of(info.param); });

// Numbers of rows about the widths of words, vectors and tiles, on both sides and with themselves.
TEST_P(EachAlgorithm, RowCountsAboutBlockBorders) {
  constexpr size_t counts[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129};
  RandomSets random(4);
  for (size_t rows : counts) {
    Input<int32_t> input;
    input.left = shapes::near_duplicates(random, rows);
    input.self_join = true;
    for (double threshold : {0.5, 0.8}) {
      EXPECT_EQ(difference(Oracle<int32_t>(input).join(Measure::jaccard, threshold),
                           run(make_spec(GetParam(), Measure::jaccard, threshold), input)),
                "")
          << rows << " rows with themselves";
    }
    for (size_t other : counts) {
      Input<int32_t> two;
      two.left = shapes::tiny_universe(random, rows);
      two.right = shapes::tiny_universe(random, other);
      EXPECT_EQ(difference(Oracle<int32_t>(two).join(Measure::jaccard, 0.6),
                           run(make_spec(GetParam(), Measure::jaccard, 0.6), two)),
                "")
          << rows << " rows with " << other;
    }
  }
}

// Overlap 18 of 19 + 19 is exactly 0.9, but a formula rounded in double precision demands 19.
TEST_P(EachAlgorithm, FindsThePairExactlyOnTheThreshold) {
  Input<int32_t> input;
  for (int32_t own : {100, 200}) {
    IntSet set{own};
    for (int32_t token = 0; token < 18; ++token) set.push_back(token);
    input.left.push_back(set);
  }
  input.self_join = true;
  EXPECT_EQ(run(make_spec(GetParam(), Measure::jaccard, 0.9), input), (std::vector<Pair>{{0, 1, 18}}));
  EXPECT_TRUE(run(make_spec(GetParam(), Measure::jaccard, std::nextafter(0.9, 1.0)), input).empty());
}

TEST_P(EachAlgorithm, NothingFedGivesNothing) {
  for (bool self_join : {false, true}) {
    Input<int32_t> input;
    input.self_join = self_join;
    EXPECT_TRUE(run(make_spec(GetParam(), Measure::jaccard, 0.5), input).empty());
    EXPECT_TRUE(run(make_spec(GetParam(), Measure::jaccard, 0.0), input).empty());
  }
}

TEST_P(EachAlgorithm, OneSideEmptyGivesNothing) {
  Input<int32_t> input;
  input.left = {{1, 2, 3}, {}, {2}};
  EXPECT_TRUE(run(make_spec(GetParam(), Measure::jaccard, 0.1), input).empty());
  std::swap(input.left, input.right);
  EXPECT_TRUE(run(make_spec(GetParam(), Measure::jaccard, 0.1), input).empty());
}

// Returns the pairs that share a token, with their overlaps, from an inverted index.
std::vector<Pair> pairs_by_counting(const Input<int32_t> &input) {
  std::vector<std::vector<uint32_t>> rows_of;
  const auto &right = input.other();
  for (uint32_t row = 0; row < right.size(); ++row) {
    for (int32_t token : right[row]) {
      if (rows_of.size() <= static_cast<size_t>(token)) rows_of.resize(static_cast<size_t>(token) + 1);
      rows_of[static_cast<size_t>(token)].push_back(row);
    }
  }
  std::vector<Pair> pairs;
  std::vector<uint32_t> shared;
  for (uint32_t l = 0; l < input.left.size(); ++l) {
    shared.assign(right.size(), 0);
    for (int32_t token : input.left[l]) {
      if (static_cast<size_t>(token) >= rows_of.size()) continue;
      for (uint32_t row : rows_of[static_cast<size_t>(token)]) ++shared[row];
    }
    for (uint32_t r = input.self_join ? l + 1 : 0; r < right.size(); ++r) {
      if (shared[r] > 0) pairs.push_back({l, r, shared[r]});
    }
  }
  return pairs;
}

std::vector<Pair> filtered(const std::vector<Pair> &pairs, const Input<int32_t> &input, double threshold) {
  std::vector<Pair> result;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(result), [&](const Pair &pair) {
    return similarity(Measure::jaccard, pair.overlap, static_cast<int64_t>(input.left[pair.left].size()),
                      static_cast<int64_t>(input.other()[pair.right].size())) >= threshold;
  });
  return result;
}

// Enough rows for several blocks, tiles and batches, on several threads.
class LargerCollections : public testing::TestWithParam<ShapeFunction> {};

INSTANTIATE_TEST_SUITE_P(Every, LargerCollections,
                         testing::Values(shapes::skewed, shapes::dense, shapes::uniform, shapes::equal_sets));

TEST_P(LargerCollections, EqualCounting) {
  RandomSets random(5);
  Input<int32_t> self;
  self.left = GetParam()(random, 2500);
  random.shuffle(self.left);
  self.self_join = true;
  const Input<int32_t> two{self.left, GetParam()(random, 900), false};
  for (const Input<int32_t> &input : {self, two}) {
    const std::vector<Pair> pairs = pairs_by_counting(input);
    for (double threshold : {0.5, 0.8, 1.0}) {
      const std::vector<Pair> expected = filtered(pairs, input, threshold);
      for (Algorithm algorithm : all_algorithms) {
        EXPECT_EQ(difference(expected, run(make_spec(algorithm, Measure::jaccard, threshold, 3), input)), "")
            << name_of(algorithm) << " at " << threshold << (input.self_join ? ", self-join" : "");
      }
    }
  }
}

// Tests that the engine uses `measure`: all measures give different pairs here.
TEST_P(EachAlgorithm, MeasuresDiffer) {
  const Input<int32_t> input = two_sided_input(all_shapes[0], 6);
  std::set<size_t> counts;
  for (Measure measure : all_measures) counts.insert(run(make_spec(GetParam(), measure, 0.6), input).size());
  EXPECT_EQ(counts.size(), std::size(all_measures));
}

}  // namespace
}  // namespace simjoin::test
