// Joins by bands of sets with weights: every pair that they find is one of the oracle, and with enough bands
// they find all.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/lsh/lsh_join.hpp"
#include "core/minhash/minhash.hpp"
#include "core/minhash/weighted_minhash.hpp"
#include "unit/drive.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

// So many bands of one row miss no pair of a Jaccard similarity of 0.3.
LshSpec spec_of_all(const Collection &input, double threshold) {
  LshSpec spec;
  spec.weighted = true;
  spec.threshold = threshold;
  spec.self_join = input.self_join;
  spec.permutations = 64;
  spec.plan = {64, 1};
  spec.threads = 2;
  return spec;
}

struct WeightedLshResult {
  std::vector<Found> pairs;
  LshStats lsh;
  JoinStats stats;
};

WeightedLshResult run_weighted_lsh(const Collection &input, const LshSpec &spec,
                                   TokenType type = TokenType::int4) {
  const auto join = make_lsh_join(spec);
  feed_sets(*join, input, type);
  WeightedLshResult result;
  result.pairs = pull_similarities(*join);
  result.lsh = join->lsh_stats();
  result.stats = join->stats();
  return result;
}

class WeightedBands : public testing::TestWithParam<Weights> {
 protected:
  Collection collection(RandomWeights &random, bool self_join, uint32_t rows) const {
    return random_collection(random, GetParam(), self_join, rows);
  }
};

TEST_P(WeightedBands, FindThePairsOfTheOracle) {
  RandomWeights random(21);
  for (int round = 0; round < 6; ++round) {
    const Collection input = collection(random, round % 2 == 0, 60);
    const std::vector<Found> all = all_pairs(input);
    for (const double threshold : {0.4, 0.7, 1.0}) {
      const auto type = static_cast<TokenType>(round % 3);
      LshSpec spec = spec_of_all(input, threshold);
      EXPECT_EQ(run_weighted_lsh(input, spec, type).pairs, reaching(threshold, all)) << round;
      spec.memory_limit = 1;
      EXPECT_EQ(run_weighted_lsh(input, spec, type).pairs, reaching(threshold, all)) << round;
    }
  }
}

// Similarities that occur are thresholds, and so are the next doubles.
TEST_P(WeightedBands, FindPairsExactlyOnTheThreshold) {
  RandomWeights random(22);
  const Collection input = collection(random, true, 40);
  std::vector<Found> all = all_pairs(input);
  const std::vector<Found> similar = reaching(0.4, all);
  ASSERT_FALSE(similar.empty());
  for (int draw = 0; draw < 20; ++draw) {
    const Found &pair = similar[random.below(static_cast<uint32_t>(similar.size()))];
    for (const double threshold : {pair.similarity, std::nextafter(pair.similarity, 2.0)})
      ASSERT_EQ(run_weighted_lsh(input, spec_of_all(input, threshold)).pairs, reaching(threshold, all))
          << pair;
  }
}

TEST_P(WeightedBands, FindTheSamePairsBeyondTheirMemory) {
  RandomWeights random(23);
  for (const bool self_join : {true, false}) {
    const Collection input = collection(random, self_join, 1500);
    LshSpec spec = spec_of_all(input, 0.7);
    spec.permutations = 24;
    spec.plan = {6, 4};
    for (const TokenType type : {TokenType::int4, TokenType::text}) {
      spec.memory_limit = size_t{1} << 30;
      const WeightedLshResult inside = run_weighted_lsh(input, spec, type);
      spec.memory_limit = size_t{256} << 10;
      const WeightedLshResult beyond = run_weighted_lsh(input, spec, type);
      EXPECT_EQ(beyond.pairs, inside.pairs);
      EXPECT_EQ(inside.stats.partitions, 0u);
      EXPECT_GE(beyond.stats.partitions, 1u);
      EXPECT_GT(beyond.stats.spilled_bytes, 0u);
      EXPECT_EQ(beyond.lsh.comparisons, inside.lsh.comparisons);
      EXPECT_EQ(beyond.lsh.candidates, inside.lsh.candidates);
      EXPECT_EQ(beyond.stats.tokens[0], inside.stats.tokens[0]);
      EXPECT_LE(beyond.stats.memory_peak, spec.memory_limit + (size_t{3} << 19));
      EXPECT_LE(beyond.stats.one_part_limit, 2 * inside.stats.memory_peak);
      spec.memory_limit = beyond.stats.one_part_limit;
      const WeightedLshResult enough = run_weighted_lsh(input, spec, type);
      EXPECT_EQ(enough.pairs, inside.pairs);
      EXPECT_EQ(enough.stats.partitions, 0u);
      EXPECT_LE(enough.stats.memory_peak, spec.memory_limit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, WeightedBands, testing::ValuesIn(all_kinds));

// Unverified pairs have the number of values in common of the signatures of weighted_minhash().
TEST(WeightedLsh, ComparesSignatures) {
  RandomWeights random(24);
  const Collection input = random_collection(random, Weights::tenths, true, 60);
  std::vector<std::vector<uint32_t>> signatures;
  for (const Weighted &set : input.left) {
    std::vector<WeightedToken> tokens;
    for (const auto &[token, weight] : set) tokens.push_back({token_identity(int64_t{token}), weight});
    WeightedMinHasher hasher(64, 7);
    hasher.sign(tokens, StopFlag(), signatures.emplace_back(64).data());
  }
  std::vector<Pair> expected;
  for (uint32_t l = 0; l < input.left.size(); ++l) {
    for (uint32_t r = l + 1; r < input.left.size(); ++r) {
      uint32_t common = 0;
      for (int i = 0; i < 64; ++i) common += signatures[l][i] == signatures[r][i];
      // sets without weight, whose values in common say nothing, are in no bucket
      const bool weightless =
          jaccard_of(input.left[l], input.left[l]) == 0 || jaccard_of(input.left[r], input.left[r]) == 0;
      if (common > 0 && !weightless) expected.push_back({l, r, common});
    }
  }
  for (const size_t limit : {size_t{1} << 30, size_t{1}}) {
    LshSpec spec = spec_of_all(input, 0.5);
    spec.verify = false;
    spec.seed = 7;
    spec.memory_limit = limit;
    const auto join = make_lsh_join(spec);
    feed_sets(*join, input);
    EXPECT_EQ(difference(expected, pull(static_cast<JoinEngine &>(*join))), "");
  }
}

// The widest weights that an array can have.
TEST(WeightedLsh, TakesTheWidestWeights) {
  const double tiny = 0x1p-149, huge = static_cast<double>(std::numeric_limits<float>::max());
  const Collection input = {{{{1, tiny}, {2, tiny}},
                             {{1, tiny}, {2, tiny}, {3, 0.0}},
                             {{1, 1000 * huge}, {2, huge}, {3, tiny}},
                             {{1, 1000 * huge}, {2, huge}, {4, tiny}}},
                            {},
                            true};
  EXPECT_EQ(run_weighted_lsh(input, spec_of_all(input, 0.99)).pairs, expected_pairs(input, 0.99));
}

}  // namespace
}  // namespace simjoin::test
