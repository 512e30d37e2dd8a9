// Joins of more distinct tokens than the memory limit can number at once give the same pairs, within the
// limit.
#include <gtest/gtest.h>

#include <string>

#include "core/rounds/beyond_memory/round_memory.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr int threads = 2;
constexpr size_t limit = size_t{512} << 10;
// The least memory for the numbering of tokens.
constexpr size_t numbering = size_t{256} << 10;

template <class Token>
Token token_of(int32_t number);
// Both signs, far apart and near zero.
template <>
int64_t token_of(int32_t number) {
  const int64_t value = number % 3 == 0 ? number : number * int64_t{0x1'0000'0001};
  return number % 2 == 0 ? value : -value;
}
// Bytes of all values, one text the beginning of another, one empty.
template <>
std::string token_of(int32_t number) {
  std::string text;
  for (; number > 0; number /= 251) text.push_back(static_cast<char>(number % 251));
  return text;
}

template <class Token>
std::vector<Token> tokens_of(const IntSet &set) {
  std::vector<Token> tokens;
  for (const int32_t number : set) tokens.push_back(token_of<Token>(number));
  return tokens;
}

template <class Token>
class TokenRunsTest : public testing::Test {
 protected:
  // Some 100,000 distinct tokens; near copies far apart from each other, tokens twice in a set, empty sets.
  static Input<Token> input(bool self_join) {
    RandomSets random(77);
    std::vector<IntSet> sets;
    for (int i = 0; i < 6000; ++i) {
      IntSet set = i >= 3000 && i % 4 == 0 ? random.edited(sets[static_cast<size_t>(i) - 3000], 3, 200'000)
                                           : random.set(random.between(0, 80), 200'000, 1.5);
      sets.push_back(std::move(set));
    }
    sets[10] = random.set(2'000, 200'000);
    sets[5990] = random.edited(sets[10], 200, 200'000);
    Input<Token> input;
    input.self_join = self_join;
    for (size_t i = 0; i < sets.size(); ++i) {
      auto &side = !self_join && i % 2 == 1 ? input.right : input.left;
      side.push_back(tokens_of<Token>(sets[i]));
      if (i % 5 == 0 && !sets[i].empty()) side.back().push_back(side.back().front());
      if (!self_join && i % 4 == 0) input.right.push_back(side.back());
    }
    return input;
  }
};

using TokenTypes = testing::Types<int64_t, std::string>;
TYPED_TEST_SUITE(TokenRunsTest, TokenTypes);

TYPED_TEST(TokenRunsTest, PairsAreTheSameWithinTheLimit) {
  for (const bool self_join : {true, false}) {
    SCOPED_TRACE(self_join ? "self-join" : "two sides");
    const auto input = this->input(self_join);
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6, threads);
    JoinStats stats;
    const std::vector<Pair> expected = run(spec, input, &stats);
    ASSERT_GT(expected.size(), 500u);
    ASSERT_EQ(stats.spilled_bytes, 0u);
    const uint64_t distinct = stats.distinct_tokens;
    ASSERT_GT(distinct, 90'000u);
    spec.memory_limit = limit;
    EXPECT_EQ(difference(expected, run(spec, input, &stats)), "");
    EXPECT_EQ(stats.distinct_tokens, distinct);
    // The tables of the tokens alone would take about five times as much.
    EXPECT_LE(stats.memory_peak, limit + numbering + threads * bytes_per_worker + 2 * distinct);
  }
}

// The limit that is reported to suffice for one part does suffice, though the file has tokens more than once.
// Half of it does not.
TYPED_TEST(TokenRunsTest, ALimitForOnePartIsTold) {
  for (const bool self_join : {true, false}) {
    SCOPED_TRACE(self_join ? "self-join" : "two sides");
    const auto input = this->input(self_join);
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.6, threads);
    for (const size_t some : {limit, 2 * limit, 4 * limit}) {
      JoinStats parts, one;
      spec.memory_limit = some;
      run(spec, input, &parts);
      EXPECT_GT(parts.partitions, 1u);
      spec.memory_limit = parts.one_part_limit;
      run(spec, input, &one);
      EXPECT_EQ(one.partitions, 0u) << some << ": " << parts.one_part_limit;
      EXPECT_LE(one.memory_peak, parts.one_part_limit);
      spec.memory_limit = parts.one_part_limit / 2;
      run(spec, input, &one);
      EXPECT_GT(one.partitions, 0u) << some << ": " << parts.one_part_limit;
    }
  }
}

// Frequencies, and so the ranks of the filters, are those of all runs together.
TYPED_TEST(TokenRunsTest, EveryAlgorithmFindsThePairs) {
  const auto input = this->input(true);
  const std::vector<Pair> expected =
      run(make_spec(Algorithm::automatic, Measure::cosine, 0.7, threads), input);
  for (const Algorithm algorithm : {Algorithm::allpairs, Algorithm::ppjoin, Algorithm::groupjoin}) {
    JoinSpec spec = make_spec(algorithm, Measure::cosine, 0.7, threads);
    spec.memory_limit = limit;
    EXPECT_EQ(difference(expected, run(spec, input)), "") << name_of(algorithm);
  }
}

}  // namespace
}  // namespace simjoin::test
