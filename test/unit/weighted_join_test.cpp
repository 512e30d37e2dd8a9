// The weighted join against all pairs compared one by one, with sums that another method makes exact.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/worker_pool.hpp"
#include "core/weighted/exact_sum.hpp"
#include "core/weighted/weighted_join.hpp"
#include "unit/cpu_time.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

JoinSpec spec_of(double threshold, const Collection &input) {
  JoinSpec spec;
  spec.measure = input.measure;
  spec.threshold = threshold;
  spec.self_join = input.self_join;
  spec.threads = 2;
  return spec;
}

std::vector<Found> run(const Collection &input, double threshold, TokenType type = TokenType::int4,
                       size_t memory_limit = size_t{1} << 30, JoinStats *stats = nullptr) {
  JoinSpec spec = spec_of(threshold, input);
  spec.memory_limit = memory_limit;
  const auto join = make_weighted_join(spec);
  feed_sets(*join, input, type);
  std::vector<Found> pairs = pull_similarities(*join);
  if (stats != nullptr) *stats = join->stats();
  return pairs;
}

class WeightedJoins : public testing::TestWithParam<std::tuple<Measure, Weights>> {
 protected:
  Collection collection(RandomWeights &random, bool self_join, uint32_t rows) const {
    return random_collection(random, std::get<Weights>(GetParam()), self_join, rows,
                             std::get<Measure>(GetParam()));
  }
};

TEST_P(WeightedJoins, FindThePairsOfTheOracle) {
  RandomWeights random(1);
  for (int round = 0; round < 6; ++round) {
    const Collection input = collection(random, round % 2 == 0, 100);
    const std::vector<Found> all = all_pairs(input);
    for (const double threshold : {0.05, 0.3, 0.5, 0.7, 0.9, 1.0}) {
      const TokenType type = static_cast<TokenType>(round % 3);
      EXPECT_EQ(run(input, threshold, type), reaching(threshold, all)) << round << ' ' << threshold;
    }
  }
}

// The weights of a token stay with it in sets whose numbers would be sorted without weights.
TEST_P(WeightedJoins, FindPairsOfSetsOfManyTexts) {
  RandomWeights random(11);
  Collection input = collection(random, true, 0);
  const Weights kind = std::get<Weights>(GetParam());
  input.left.push_back(random.set(kind, 140, 200));
  for (int row = 0; row < 12; ++row) input.left.push_back(random.near(input.left.back(), kind, 10, 200));
  for (const TokenType type : {TokenType::text, TokenType::int8, TokenType::int4})
    EXPECT_EQ(run(input, 0.5, type), expected_pairs(input, 0.5)) << static_cast<int>(type);
}

// Similarities that occur are thresholds, and so are the next doubles.
TEST_P(WeightedJoins, FindPairsExactlyOnTheThreshold) {
  RandomWeights random(2);
  for (int round = 0; round < 4; ++round) {
    const Collection input = collection(random, round % 2 == 0, 40);
    const std::vector<Found> all = all_pairs(input);
    for (int draw = 0; draw < 40; ++draw) {
      const Found &pair = all[random.below(static_cast<uint32_t>(all.size()))];
      for (const double threshold : {pair.similarity, std::nextafter(pair.similarity, 2.0)})
        ASSERT_EQ(run(input, threshold), reaching(threshold, all)) << pair;
    }
  }
}

TEST_P(WeightedJoins, FindEveryPairIfEveryPairQualifies) {
  RandomWeights random(3);
  for (const bool self_join : {true, false}) {
    const Collection input = collection(random, self_join, 60);
    for (const double threshold : {0.0, -1.0, -std::numeric_limits<double>::infinity()})
      EXPECT_EQ(run(input, threshold), expected_pairs(input, threshold));
  }
}

TEST_P(WeightedJoins, FindTheSamePairsBeyondTheirMemory) {
  RandomWeights random(4);
  for (const bool self_join : {true, false}) {
    const Collection input = collection(random, self_join, 900);
    for (const TokenType type : {TokenType::int4, TokenType::text}) {
      JoinStats inside, beyond;
      const std::vector<Found> expected = run(input, 0.6, type, size_t{1} << 30, &inside);
      EXPECT_EQ(run(input, 0.6, type, size_t{128} << 10, &beyond), expected);
      EXPECT_EQ(inside.partitions, 0u);
      EXPECT_GT(beyond.partitions, 1u);
      EXPECT_GT(beyond.spilled_bytes, 0u);
      EXPECT_EQ(beyond.output, expected.size());
      EXPECT_EQ(beyond.after_length, inside.after_length);
      JoinStats enough;
      EXPECT_EQ(run(input, 0.6, type, beyond.one_part_limit, &enough), expected);
      EXPECT_EQ(enough.partitions, 0u);
    }
  }
}

// A million tokens of 150,000 values, so that integers of 64 bits wait for all threads. The largest sets come
// last.
Collection many_distinct_values(bool self_join) {
  constexpr uint32_t rows = 36'000, universe = 150'000;
  RandomWeights random(12);
  Collection input;
  input.self_join = self_join;
  for (uint32_t row = 0; row < rows; ++row) {
    const bool copy = row % 50 == 49;
    input.left.push_back(copy ? random.near(input.left.back(), Weights::tenths, 2, universe)
                              : random.set(Weights::tenths, 30, universe));
    if (!self_join && row % 4 == 0)
      input.right.push_back(random.near(input.left.back(), Weights::sums, 2, universe));
  }
  for (std::vector<Weighted> *side : {&input.left, &input.right}) {
    if (side == &input.right && self_join) continue;
    side->push_back({});
    side->push_back(random.set(Weights::tenths, 3'000, universe));
    side->push_back(random.near(side->back(), Weights::sums, 20, universe));
  }
  return input;
}

TEST(WeightedJoin, FindsThePairsOfValuesThatWait) {
  for (const bool self_join : {true, false}) {
    const Collection input = many_distinct_values(self_join);
    JoinStats expected_stats, stats;
    const std::vector<Found> expected = run(input, 0.6, TokenType::int4, size_t{1} << 30, &expected_stats);
    EXPECT_GT(expected.size(), 500u);
    EXPECT_EQ(run(input, 0.6, TokenType::int8, size_t{1} << 30, &stats), expected);
    EXPECT_EQ(stats.distinct_tokens, expected_stats.distinct_tokens);
    EXPECT_EQ(stats.tokens[0], expected_stats.tokens[0]);
    EXPECT_EQ(stats.spilled_bytes, 0u);
  }
}

// The one limit is reached before values begin to wait, the other one afterwards.
TEST(WeightedJoin, FindsThesePairsBeyondTheMemoryLimit) {
  for (const bool self_join : {true, false}) {
    const Collection input = many_distinct_values(self_join);
    const std::vector<Found> expected = run(input, 0.6);
    for (const size_t limit : {4, 20}) {
      SCOPED_TRACE(std::to_string(limit) + " MB");
      JoinStats beyond, enough;
      EXPECT_EQ(run(input, 0.6, TokenType::int8, limit << 20, &beyond), expected);
      EXPECT_GT(beyond.spilled_bytes, 0u);
      EXPECT_LE(beyond.memory_peak, limit << 20);
      EXPECT_EQ(run(input, 0.6, TokenType::int8, beyond.one_part_limit, &enough), expected);
      EXPECT_EQ(enough.spilled_bytes, 0u);
    }
  }
}

TEST(WeightedJoin, OfValuesThatWaitCanBeGivenUpBeforeTheFile) {
  const Collection input = many_distinct_values(true);
  const auto join = make_weighted_join(spec_of(0.6, input));
  feed_sets(*join, input, TokenType::int8);
  set_interruption([] { return true; });
  EXPECT_THROW(join->set_spill_file(unlinked_file(), UINT64_MAX), Cancelled);
  set_interruption(nullptr);
}

INSTANTIATE_TEST_SUITE_P(Weights, WeightedJoins,
                         testing::Combine(testing::Values(Measure::jaccard, Measure::cosine),
                                          testing::ValuesIn(all_kinds)));

constexpr Measure both_measures[] = {Measure::jaccard, Measure::cosine};

TEST(WeightedJoin, FindsNothingAboveOneOrForNan) {
  RandomWeights random(5);
  for (const Measure measure : both_measures) {
    const Collection input = random_collection(random, Weights::ones, true, 50, measure);
    EXPECT_TRUE(run(input, std::nextafter(1.0, 2.0)).empty());
    EXPECT_TRUE(run(input, INFINITY).empty());
    EXPECT_TRUE(run(input, NAN).empty());
  }
}

// The cosine of a set with itself, or with twice its weights, is 1. So is none above.
TEST(WeightedJoin, FindsVectorsOfOneDirectionAtOne) {
  RandomWeights random(11);
  for (const Weights kind : all_kinds) {
    Collection input = {{}, {}, true, Measure::cosine};
    for (int i = 0; i < 40; ++i) {
      Weighted set = random.set(kind, 1 + random.below(60), 300);
      set[1000] = 0.1f;
      input.left.push_back(set);
      for (auto &[token, weight] : set) weight *= 2;
      input.left.push_back(std::move(set));
    }
    std::vector<Found> expected;
    for (uint32_t i = 0; i < 80; i += 2) expected.push_back({i, i + 1, 1.0});
    std::vector<Found> found = run(input, 1.0);
    std::erase_if(found, [](const Found &pair) { return pair.right != pair.left + 1 || pair.left % 2 != 0; });
    EXPECT_EQ(found, expected);
  }
}

// Sets whose weights are all alike have the cosine of sets without weights, to the last bit.
TEST(WeightedJoin, AgreesWithTheCosineOfSets) {
  RandomWeights random(12);
  const Collection input = random_collection(random, Weights::ones, true, 60, Measure::cosine);
  for (const Found &pair : run(input, 0)) {
    const Weighted &l = input.left[pair.left], &r = input.left[pair.right];
    int64_t overlap = 0;
    for (const auto &[token, weight] : l) overlap += r.contains(token);
    EXPECT_EQ(pair.similarity, similarity(Measure::cosine, overlap, static_cast<int64_t>(l.size()),
                                          static_cast<int64_t>(r.size())));
  }
}

TEST(WeightedJoin, TakesCollectionsWithoutSetsOrWeights) {
  for (const Measure measure : both_measures) {
    EXPECT_TRUE(run({{}, {}, true, measure}, 0.5).empty());
    EXPECT_TRUE(run({{{{1, 1.0}}}, {}, false, measure}, 0.5).empty());
    EXPECT_TRUE(run({{{{1, 0.0}}, {{1, 0.0}}, {}}, {}, true, measure}, 0.1).empty());
    EXPECT_EQ(run({{{{1, 0.0}}, {{1, 0.0}}, {}}, {}, true, measure}, 0).size(), 3u);
  }
}

// A float4's least and greatest weight in one join: doubles do not hold the sums.
TEST(WeightedJoin, TakesTheWidestWeights) {
  const double tiny = 0x1p-149, huge = static_cast<double>(std::numeric_limits<float>::max());
  Collection input = {{{{1, tiny}, {2, tiny}},
                       {{1, tiny}},
                       {{1, huge}, {2, huge}, {3, tiny}},
                       {{1, huge}, {2, huge}},
                       {{1, huge}, {2, huge / 2}, {3, 1.0}},
                       {{1, 3 * huge}, {2, huge}},
                       {{1, 2.5 * huge}, {2, huge}, {4, tiny}}},
                      {},
                      true};
  for (const Measure measure : both_measures) {
    input.measure = measure;
    for (const double threshold : {1e-300, 1e-155, 1e-80, 1e-40, 0.5, 0.75, 1.0})
      EXPECT_EQ(run(input, threshold), expected_pairs(input, threshold)) << threshold;
  }
}

TEST(WeightedJoin, CountsWhatItsFiltersLeave) {
  RandomWeights random(6);
  for (const Measure measure : both_measures) {
    const Collection input = random_collection(random, Weights::any, true, 400, measure);
    JoinStats stats;
    const std::vector<Found> pairs = run(input, 0.8, TokenType::int4, size_t{1} << 30, &stats);
    EXPECT_EQ(stats.pairs, 400u * 399 / 2);
    if (measure == Measure::jaccard) {
      EXPECT_LT(stats.after_length, stats.pairs);
    }
    EXPECT_LT(stats.after_prefix, stats.after_length);
    EXPECT_EQ(stats.verified, stats.after_prefix);
    EXPECT_EQ(stats.output, pairs.size());
    EXPECT_GT(stats.output, 0u);
  }
}

// A row that is done has its partner among the pairs so far; all others get theirs.
TEST(WeightedJoin, LeavesOutPairsOfRowsThatAreDone) {
  RandomWeights random(7);
  for (const bool self_join : {true, false}) {
    Collection input = random_collection(random, Weights::tenths, self_join, 300);
    const Weighted copied = random.set(Weights::any, 20, 100);
    for (int i = 0; i < 150; ++i) input.left.push_back(copied);
    const std::vector<Found> all = expected_pairs(input, 0.7);
    std::vector<uint8_t> bits(input.left.size() / 8 + 1, 0);
    DoneRows done = {bits.data()};
    JoinSpec spec = spec_of(0.7, input);
    spec.done_rows = &done;
    const auto join = make_weighted_join(spec);
    feed_sets(*join, input);
    Batch batch;
    std::vector<Found> found;
    const auto set_done = [&](uint32_t row) {
      std::atomic_ref(bits[row / 8]).fetch_or(static_cast<uint8_t>(1 << row % 8), std::memory_order_relaxed);
    };
    for (StepResult result;
         (result = join->step(std::chrono::milliseconds(10), batch)) != StepResult::done;) {
      for (size_t i = 0; result == StepResult::batch && i < batch.size(); ++i) {
        found.push_back({batch.left[i], batch.right[i], batch.similarity[i]});
        set_done(batch.left[i]);
        if (self_join) set_done(batch.right[i]);
      }
    }
    std::sort(found.begin(), found.end());
    EXPECT_TRUE(std::includes(all.begin(), all.end(), found.begin(), found.end()));
    std::vector<bool> expected(input.left.size()), got(input.left.size());
    for (const Found &pair : all)
      expected[pair.left] = true, expected[self_join ? pair.right : pair.left] = true;
    for (const Found &pair : found) got[pair.left] = true, got[self_join ? pair.right : pair.left] = true;
    EXPECT_EQ(got, expected);
    if (self_join) {
      EXPECT_LT(found.size(), all.size());
    }
  }
}

TEST(WeightedJoin, StopsSoonWhenItIsAbandoned) {
  Collection input;
  RandomWeights random(8);
  const Weighted set = random.set(Weights::any, 60, 100);
  for (int i = 0; i < 20000; ++i) input.left.push_back(random.near(set, Weights::any, 4, 100));
  auto join = make_weighted_join(spec_of(0.1, input));
  feed_sets(*join, input);
  Batch batch;
  join->step(std::chrono::milliseconds(50), batch);
  EXPECT_TRUE(ends_at_once([&] { join.reset(); }));
}

TEST(ExactSum, RoundsOnceAsAnotherMethodDoes) {
  RandomWeights random(9);
  for (int round = 0; round < 2000; ++round) {
    const Weights kind = all_kinds[random.below(std::size(all_kinds))];
    std::vector<double> values;
    ExactSum sum, part;
    const uint32_t count = random.below(40);
    for (uint32_t i = 0; i < count; ++i) {
      values.push_back(random.weight(kind));
      (i % 3 == 0 ? part : sum).add(values.back());
    }
    ExactSum both = sum;
    both.add(part);
    EXPECT_EQ(both.rounded(), rounded_once(values));
    both.subtract(part);
    EXPECT_EQ(both.rounded(), sum.rounded());
  }
}

TEST(ExactProducts, RoundOnceAsAnotherMethodDoes) {
  RandomWeights random(10);
  for (int round = 0; round < 2000; ++round) {
    const Weights kind = all_kinds[random.below(std::size(all_kinds))];
    std::vector<double> terms;
    ExactProducts sum;
    for (uint32_t i = 0, count = random.below(40); i < count; ++i) {
      const double a = random.weight(kind), b = random.weight(kind);
      add_product(a, b, terms);
      sum.add(a, b);
    }
    EXPECT_EQ(sum.rounded(), rounded_once(terms));
  }
  const double largest = std::ldexp(static_cast<double>(std::numeric_limits<float>::max()), 31);
  ExactProducts most;
  most.add(largest, largest);
  EXPECT_EQ(most.rounded(), largest * largest);
}

TEST(WeightRange, TellsWhetherDoublesHoldTheSums) {
  const auto exact = [](std::initializer_list<double> weights) {
    WeightRange range;
    for (const double weight : weights) range.add(weight);
    return range.sums_are_exact();
  };
  EXPECT_TRUE(exact({}));
  EXPECT_TRUE(exact({0, 0}));
  EXPECT_TRUE(exact({1, 0x1p51}));
  EXPECT_FALSE(exact({1, 0x1p52}));  // with a second set, the sum is above 2^53
  EXPECT_TRUE(exact({0x1p-149}));
  EXPECT_FALSE(exact({0x1p-149, 1}));
  EXPECT_TRUE(exact({0.1f, 0.2f, 7.0f}));
}

}  // namespace
}  // namespace simjoin::test
