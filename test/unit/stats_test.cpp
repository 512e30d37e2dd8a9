// The figures of a join are exact if they are defined exactly, and consistent from filter to filter.
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "core/handover/join_counters.hpp"
#include "unit/drive.hpp"
#include "unit/filter_counts.hpp"
#include "unit/process.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr double thresholds[] = {0.4, 0.6, 0.8, 0.9};

struct Figures {
  uint64_t sets = 0, tokens = 0;
};

Figures figures_of(const IntSets &sets) {
  Figures figures;
  for (const IntSet &set : sets) {
    const uint64_t distinct = std::set<int32_t>(set.begin(), set.end()).size();
    figures.sets += distinct > 0;
    figures.tokens += distinct;
  }
  return figures;
}

uint64_t distinct_tokens_of(const Input<int32_t> &input) {
  std::set<int32_t> distinct;
  for (const auto *sets : {&input.left, &input.right}) {
    for (const IntSet &set : *sets) distinct.insert(set.begin(), set.end());
  }
  return distinct.size();
}

std::vector<int64_t> sizes_of(const IntSets &sets) {
  std::vector<int64_t> sizes;
  for (const IntSet &set : sets) {
    sizes.push_back(static_cast<int64_t>(std::set<int32_t>(set.begin(), set.end()).size()));
  }
  return sizes;
}

// Returns the number of pairs of non-empty sets whose sizes the measure and threshold allow.
uint64_t pairs_of_compatible_sizes(const Input<int32_t> &input, const Bounds &bounds) {
  const std::vector<int64_t> left = sizes_of(input.left), right = sizes_of(input.other());
  uint64_t count = 0;
  for (size_t l = 0; l < left.size(); ++l) {
    for (size_t r = input.self_join ? l + 1 : 0; r < right.size(); ++r) {
      count += bounds.satisfied(std::min(left[l], right[r]), left[l], right[r]);
    }
  }
  return count;
}

class StatsTest : public testing::TestWithParam<std::tuple<Shape, Algorithm>> {
 protected:
  static std::vector<Input<int32_t>> inputs() {
    const Shape &shape = std::get<0>(GetParam());
    return {self_input(shape, 41), two_sided_input(shape, 42)};
  }
  static Algorithm algorithm() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Every, StatsTest,
                         testing::Combine(testing::ValuesIn(all_shapes), testing::ValuesIn(all_algorithms)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST_P(StatsTest, InputAndOutputAreExact) {
  for (const Input<int32_t> &input : inputs()) {
    JoinStats stats;
    const std::vector<Pair> pairs = run(make_spec(algorithm(), Measure::jaccard, 0.6), input, &stats);
    EXPECT_EQ(stats.output, pairs.size());
    const Figures left = figures_of(input.left), right = figures_of(input.right);
    EXPECT_EQ(stats.sets[0], left.sets);
    EXPECT_EQ(stats.tokens[0], left.tokens);
    if (!input.self_join) {
      EXPECT_EQ(stats.sets[1], right.sets);
      EXPECT_EQ(stats.tokens[1], right.tokens);
    }
    EXPECT_EQ(stats.distinct_tokens, distinct_tokens_of(input));
    if (figures_of(input.left).sets == input.left.size() && right.sets == input.right.size()) {
      const uint64_t rows = input.left.size();
      EXPECT_EQ(stats.pairs, input.self_join ? rows * (rows - 1) / 2 : rows * input.right.size());
    }
    EXPECT_GE(stats.threads, 1);
    EXPECT_LE(stats.threads, 2);
    EXPECT_FALSE(stats.algorithm.empty());
    EXPECT_GT(stats.memory_peak, left.tokens * sizeof(uint32_t));
  }
}

// Values that get ids as they come, whatever their type.
template <class Token>
void expect_distinct_tokens(std::vector<std::vector<Token>> left, std::vector<std::vector<Token>> right,
                            uint64_t distinct) {
  for (bool self_join : {true, false}) {
    Input<Token> input;
    input.self_join = self_join;
    input.left = left;
    if (self_join) input.left.insert(input.left.end(), right.begin(), right.end());
    if (!self_join) input.right = right;
    JoinStats stats;
    run(make_spec(Algorithm::automatic, Measure::jaccard, 0.6), input, &stats);
    EXPECT_EQ(stats.distinct_tokens, distinct) << (self_join ? "self-join" : "two sides");
  }
}

TEST(DistinctTokensTest, AreCountedForEveryType) {
  constexpr int64_t far = int64_t{1} << 40;
  expect_distinct_tokens<int64_t>({{-far, 1, 2}, {1, 2, far}}, {{2, 3, far}, {}}, 5);
  expect_distinct_tokens<std::string>({{"a", "b", "b"}, {"a", "c"}}, {{"a", "b", "d"}}, 4);
  expect_distinct_tokens<int32_t>({{INT32_MIN, 1, 2}, {1, 2, INT32_MAX}}, {{2, 3}}, 5);
}

TEST_P(StatsTest, FiltersNeverAdd) {
  for (const Input<int32_t> &input : inputs()) {
    for (Measure measure : {Measure::jaccard, Measure::cosine, Measure::dice}) {
      for (double threshold : thresholds) {
        JoinStats stats;
        run(make_spec(algorithm(), measure, threshold), input, &stats);
        SCOPED_TRACE(name_of(measure) + " >= " + std::to_string(threshold) + ", " + stats.algorithm);
        expect_filters_never_add(stats);
      }
    }
  }
}

TEST_P(StatsTest, LengthFilterIsExact) {
  for (const Input<int32_t> &input : inputs()) {
    for (double threshold : thresholds) {
      JoinStats stats;
      run(make_spec(algorithm(), Measure::jaccard, threshold), input, &stats);
      EXPECT_EQ(stats.after_length, pairs_of_compatible_sizes(input, Bounds(Measure::jaccard, threshold)))
          << "jaccard >= " << threshold << ", " << stats.algorithm;
    }
  }
}

TEST_P(StatsTest, CountsDoNotDependOnThreads) {
  for (const Input<int32_t> &few : inputs()) {
    const Input<int32_t> input = with_unrelated_rows(few);
    for (double threshold : thresholds) {
      JoinStats one, many;
      run(make_spec(algorithm(), Measure::jaccard, threshold, 1), input, &one);
      run(make_spec(algorithm(), Measure::jaccard, threshold, 5), input, &many);
      SCOPED_TRACE("jaccard >= " + std::to_string(threshold) + ", " + one.algorithm);
      EXPECT_EQ(one.threads, 1);
      EXPECT_EQ(many.threads, 5);
      EXPECT_EQ(one.pairs, many.pairs);
      EXPECT_EQ(one.after_length, many.after_length);
      EXPECT_EQ(one.after_prefix, many.after_prefix);
      EXPECT_EQ(one.after_positional, many.after_positional);
      EXPECT_EQ(one.after_bitmap, many.after_bitmap);
      EXPECT_EQ(one.verified, many.verified);
      EXPECT_EQ(one.output, many.output);
      EXPECT_EQ(one.algorithm, many.algorithm);
    }
  }
}

// With more threads than cores, each waits for a core most of the time, and some wait for the caller.
TEST(CpuTimeTest, IsNoMoreThanTheProcessHas) {
  RandomSets random(44);
  Input<int32_t> input;
  input.self_join = true;
  input.left = shapes::near_duplicates(random, 3000);
  for (Algorithm algorithm : all_algorithms) {
    const auto begin = processor_time();
    JoinStats stats;
    run(make_spec(algorithm, Measure::jaccard, 0.3, 32), input, &stats);
    const std::chrono::duration<double, std::milli> passed = processor_time() - begin;
    EXPECT_GT(stats.filter_ms + stats.verify_ms, 0) << name_of(algorithm);
    EXPECT_LE(stats.filter_ms + stats.verify_ms, passed.count()) << name_of(algorithm);
  }
}

TEST(JoinStatsTest, CountersOfWorkersAddUp) {
  JoinCounters one{{1, 2, 3, 4, 5, 6}, JoinCounters::Clock::duration(7), JoinCounters::Clock::duration(8)};
  JoinCounters sum = one;
  sum += one;
  JoinStats stats;
  stats.PairCounts::operator+=(sum);
  for (const PairCounts *counts : {static_cast<PairCounts *>(&sum), static_cast<PairCounts *>(&stats)}) {
    const auto &[prefix, positional, bitmap, verified, left_out, output] = *counts;
    EXPECT_EQ((std::vector{prefix, positional, bitmap, verified, left_out, output}),
              (std::vector<uint64_t>{2, 4, 6, 8, 10, 12}));
  }
  EXPECT_EQ(sum.filter.count(), 14);
  EXPECT_EQ(sum.verify.count(), 16);
}

TEST(JoinStatsTest, AddUp) {
  JoinStats one;
  one.sets[0] = one.sets[1] = one.tokens[0] = one.tokens[1] = one.distinct_tokens = 2;
  one.pairs = one.after_length = one.verified = 2;
  one.after_prefix = one.after_positional = one.after_bitmap = one.left_out = one.output = one.partitions = 2;
  one.order_ms = one.build_ms = one.filter_ms = one.verify_ms = one.join_ms = 2;
  one.memory_peak = one.device_memory_peak = one.one_part_limit = one.spilled_bytes = 2;
  one.threads = 2;
  one.used_bitmap = true;
  one.algorithm = "ppjoin";
  one.streamed = "left";
  one.gpu_refused = "no reason";
  one.reasons = {"a"};
  JoinStats other = one;
  other.used_prefix = true;
  other.algorithm = "ppjoin + bitmap";
  other.device = "gpu";
  other.streamed = "right";
  other.gpu_refused.clear();
  other.reasons.clear();
  JoinStats sum;
  for (const JoinStats &stats : {one, other, one, JoinStats(), other}) sum += stats;
  for (uint64_t count :
       {sum.sets[0], sum.sets[1], sum.tokens[0], sum.tokens[1], sum.distinct_tokens, sum.pairs,
        sum.after_length, sum.after_prefix, sum.after_positional, sum.after_bitmap, sum.verified,
        sum.left_out, sum.output, uint64_t{sum.partitions}, sum.spilled_bytes}) {
    EXPECT_EQ(count, 8u);
  }
  for (double ms : {sum.order_ms, sum.build_ms, sum.filter_ms, sum.verify_ms, sum.join_ms}) EXPECT_EQ(ms, 8);
  for (size_t most : {sum.memory_peak, sum.device_memory_peak, sum.one_part_limit, size_t(sum.threads)}) {
    EXPECT_EQ(most, 2u);
  }
  EXPECT_TRUE(sum.used_prefix && sum.used_bitmap);
  EXPECT_EQ(sum.algorithm, "ppjoin, ppjoin + bitmap");
  EXPECT_EQ(sum.device, "cpu, gpu");
  EXPECT_EQ(sum.streamed, "left, right");
  EXPECT_EQ(sum.gpu_refused, "no reason");
  EXPECT_EQ(sum.reasons, std::vector<std::string>{"a"});
}

// A filter that lets everything through would pass every other test.
class FilterTest : public testing::Test {
 protected:
  static JoinStats stats_of(Algorithm algorithm) {
    RandomSets random(43);
    Input<int32_t> input;
    input.self_join = true;
    input.left = shapes::near_duplicates(random, 1200);
    JoinStats stats;
    run(make_spec(algorithm, Measure::jaccard, 0.8), input, &stats);
    return stats;
  }
};

TEST_F(FilterTest, LengthAndPrefixFiltersRemovePairs) {
  for (Algorithm algorithm : {Algorithm::allpairs, Algorithm::ppjoin, Algorithm::groupjoin}) {
    const JoinStats stats = stats_of(algorithm);
    EXPECT_TRUE(stats.used_prefix) << name_of(algorithm);
    EXPECT_LT(stats.after_length, stats.pairs / 2) << name_of(algorithm);
    EXPECT_LT(stats.after_prefix, stats.after_length / 2) << name_of(algorithm);
    EXPECT_GT(stats.after_prefix, 0u) << name_of(algorithm);
  }
}

TEST_F(FilterTest, PositionalFilterRemovesPairs) {
  for (Algorithm algorithm : {Algorithm::ppjoin, Algorithm::groupjoin}) {
    const JoinStats stats = stats_of(algorithm);
    EXPECT_LT(stats.after_positional, stats.after_prefix) << name_of(algorithm);
  }
}

TEST_F(FilterTest, BitmapFilterRemovesPairs) {
  const JoinStats stats = stats_of(Algorithm::bitmap);
  EXPECT_TRUE(stats.used_bitmap);
  EXPECT_FALSE(stats.used_prefix);
  EXPECT_LT(stats.after_bitmap, stats.after_length / 2);
}

TEST_F(FilterTest, AutoGivesItsReasons) {
  EXPECT_FALSE(stats_of(Algorithm::automatic).reasons.empty());
}

// A time that is only a lower bound instead of an estimate may be less than that of the chosen way.
TEST_F(FilterTest, ReasonsCompareOnlyWhatWasEstimated) {
  bool compared = false;
  double chosen = -1, other = -1;
  for (const std::string &reason : stats_of(Algorithm::automatic).reasons) {
    compared |= reason.find("leave up to") != std::string::npos;
    if (reason.find("sets through prefix index") == std::string::npos) continue;
    std::sscanf(reason.c_str() + reason.find(": an estimated"), ": an estimated %lf", &chosen);
    const size_t at = reason.find("against at least ");
    if (at != std::string::npos) std::sscanf(reason.c_str() + at, "against at least %lf", &other);
    EXPECT_EQ(reason.find("against "), at) << reason;
  }
  EXPECT_FALSE(compared);  // the join is too small for that
  EXPECT_GE(chosen, 0);
  if (other >= 0) {
    EXPECT_GE(other, chosen);
  }
}

}  // namespace
}  // namespace simjoin::test
