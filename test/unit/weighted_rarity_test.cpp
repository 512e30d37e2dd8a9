// Joins whose tokens weigh by their rarity, against all pairs compared one by one with weights that are
// counted apart.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/weighted/weighted_join.hpp"
#include "unit/weighted_oracle.hpp"

namespace simjoin::test {
namespace {

// Gives each token its weight by rarity. Each set of the left counts as often as `times` says.
void weigh(Collection &input, const std::vector<uint32_t> &times) {
  std::map<int32_t, double> with;
  double all = 0;
  const auto count = [&](const Weighted &set, uint32_t as) {
    if (set.empty()) return;
    all += as;
    for (const auto &[token, weight] : set) with[token] += as;
  };
  for (size_t row = 0; row < input.left.size(); ++row) count(input.left[row], times[row]);
  for (const Weighted &set : input.right) count(set, 1);
  for (std::vector<Weighted> *side : {&input.left, &input.right})
    for (Weighted &set : *side)
      for (auto &[token, weight] : set)
        weight = static_cast<float>(std::log((1 + all) / (1 + with[token])) + 1);
}

// Adds the tokens of a set without weights, one of them twice.
void add_plain(JoinEngine &join, Side side, const Weighted &set, TokenType type) {
  std::vector<int32_t> tokens;
  for (const auto &[token, weight] : set) tokens.insert(tokens.begin(), token);
  if (!tokens.empty()) tokens.push_back(tokens.front());
  std::vector<int64_t> wide;
  std::vector<std::string> texts;
  for (const int32_t token : tokens) {
    wide.push_back(int64_t{token} * 1'000'000'007);
    texts.push_back("token " + std::to_string(token));
  }
  if (type == TokenType::int4) add_set(join, side, std::span(tokens), nullptr);
  if (type == TokenType::int8) add_set(join, side, std::span(wide), nullptr);
  if (type == TokenType::text) add_set(join, side, std::span(texts), nullptr);
  if (join.wants_spill_file()) join.set_spill_file(unlinked_file(), UINT64_MAX);
}

struct Run {
  TokenType type = TokenType::int4;
  size_t memory_limit = size_t{1} << 30;
  int threads = 2;
};

std::vector<Found> run(const Collection &input, double threshold, const std::vector<uint32_t> &times,
                       const Run &how, JoinStats *stats = nullptr) {
  JoinSpec spec;
  spec.measure = input.measure;
  spec.threshold = threshold;
  spec.self_join = input.self_join;
  spec.by_rarity = true;
  spec.threads = how.threads;
  spec.memory_limit = how.memory_limit;
  const auto join = make_weighted_join(spec);
  for (const Weighted &set : input.left) add_plain(*join, Side::left, set, how.type);
  for (const Weighted &set : input.right) add_plain(*join, Side::right, set, how.type);
  for (uint32_t row = 0; row < times.size(); ++row)
    if (times[row] > 1) join->add_copies(row, times[row] - 1);
  std::vector<Found> pairs = pull_similarities(*join);
  if (stats != nullptr) *stats = join->stats();
  return pairs;
}

// Sets of which some are equal; those count more than once in a self-join.
Collection collection(RandomWeights &random, bool self_join, uint32_t rows, Measure measure,
                      std::vector<uint32_t> &times) {
  Collection input = random_collection(random, Weights::ones, self_join, rows, measure);
  for (std::vector<Weighted> *side : {&input.left, &input.right})
    if (!side->empty()) {
      side->push_back({});
      side->push_back(side->front());
    }
  times.assign(input.left.size(), 1);
  if (self_join) times.back() = 9;
  weigh(input, times);
  return input;
}

class RarityJoins : public testing::TestWithParam<Measure> {};

TEST_P(RarityJoins, FindThePairsOfTheOracle) {
  RandomWeights random(21);
  std::vector<uint32_t> times;
  for (int round = 0; round < 6; ++round) {
    const Collection input = collection(random, round % 2 == 0, 100, GetParam(), times);
    const std::vector<Found> all = all_pairs(input);
    for (const double threshold : {0.05, 0.3, 0.6, 0.9, 1.0})
      for (const TokenType type : {TokenType::int4, TokenType::int8, TokenType::text})
        EXPECT_EQ(run(input, threshold, times, {type}), reaching(threshold, all))
            << round << ' ' << threshold;
  }
}

TEST_P(RarityJoins, FindTheSamePairsBeyondTheirMemoryAndWithAnyThreads) {
  RandomWeights random(22);
  std::vector<uint32_t> times;
  for (const bool self_join : {true, false}) {
    const Collection input = collection(random, self_join, 900, GetParam(), times);
    for (const TokenType type : {TokenType::int4, TokenType::int8, TokenType::text}) {
      JoinStats beyond;
      const std::vector<Found> expected = reaching(0.6, all_pairs(input));
      EXPECT_EQ(run(input, 0.6, times, {type, size_t{1} << 30, 1}), expected);
      EXPECT_EQ(run(input, 0.6, times, {type, size_t{1} << 30, 5}), expected);
      EXPECT_EQ(run(input, 0.6, times, {type, size_t{96} << 10, 2}, &beyond), expected);
      EXPECT_GT(beyond.partitions, 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Measures, RarityJoins, testing::Values(Measure::jaccard, Measure::cosine));

// Integers of 64 bits that wait, and leave for the file or not.
TEST(RarityJoin, FindsThePairsOfValuesThatWait) {
  RandomWeights random(23);
  for (const bool self_join : {true, false}) {
    Collection input;
    input.self_join = self_join;
    for (int row = 0; row < 20'000; ++row) {
      input.left.push_back(random.set(Weights::ones, 30, 150'000));
      if (row % 50 == 0)
        (self_join ? input.left : input.right)
            .push_back(random.near(input.left.back(), Weights::ones, 2, 150'000));
    }
    const std::vector<uint32_t> times(input.left.size(), 1);
    const std::vector<Found> expected = run(input, 0.6, times, {TokenType::int4});
    weigh(input, times);
    const auto &right = self_join ? input.left : input.right;
    EXPECT_GT(expected.size(), 200u);
    for (const Found &pair : expected)
      EXPECT_EQ(pair.similarity, jaccard_of(input.left[pair.left], right[pair.right]));
    EXPECT_EQ(run(input, 0.6, times, {TokenType::int8}), expected);
    for (const size_t limit : {4, 12}) {
      JoinStats beyond;
      EXPECT_EQ(run(input, 0.6, times, {TokenType::int8, limit << 20}, &beyond), expected);
      EXPECT_GT(beyond.spilled_bytes, 0u);
    }
  }
}

TEST(RarityJoin, AloneTakesCopies) {
  JoinSpec spec;
  EXPECT_THROW(make_weighted_join(spec)->add_copies(0, 1), Error);
  spec.by_rarity = true;
  const auto join = make_weighted_join(spec);
  const std::vector<int32_t> tokens = {1, 2};
  const std::vector<double> weights = {1, 1};
  EXPECT_THROW(add_set(*join, Side::left, std::span(tokens), weights.data()), Error);
}

}  // namespace
}  // namespace simjoin::test
