// Many distinct integers of 64 bits wait and are counted by all threads: their ranks, and joins that begin
// to let them wait, with and without a file later.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/hashed_ranks.hpp"
#include "core/sets/int64_values.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

using Int64Sets = std::vector<std::vector<int64_t>>;

// Values all over the type, some that differ in their upper half alone, and values in a range of 32 bits.
int64_t far_apart(int32_t token) {
  if (token == 0) return INT64_MIN;
  if (token == 1) return INT64_MAX;
  return token % 3 == 0 ? int64_t{token} << 32 : static_cast<int64_t>(uint64_t(token) * 0x9E3779B97F4A7C15u);
}
int64_t near(int32_t token) {
  return int64_t{token} * 1001 + (int64_t{1} << 40);
}
int64_t dense(int32_t token) {
  return token - (int64_t{1} << 40);
}
using ValueOf = int64_t (*)(int32_t);

Int64Sets sets_of(uint32_t seed, ValueOf value_of) {
  RandomSets random(seed);
  Int64Sets sets;
  for (int i = 0; i < 1'500; ++i) {
    std::vector<int64_t> &set = sets.emplace_back();
    for (const int32_t token : random.set(random.between(0, 150), 50'000, 2.0))
      set.push_back(value_of(token));
    if (i % 7 == 0) std::sort(set.begin(), set.end());
    if (i % 3 == 0) set.insert(set.end(), set.begin(), set.begin() + static_cast<ptrdiff_t>(set.size() / 2));
  }
  return sets;
}

// A side whose numbers wait in the blocks.
struct WaitingSide {
  WaitingSide(const Int64Sets &sets, Int64Values &values, MemoryCounter &memory)
      : raw(size_t{1} << 14, memory) {
    for (const std::vector<int64_t> &set : sets) {
      auto *numbers = reinterpret_cast<uint64_t *>(raw.room(2 * set.size()));
      const uint32_t size = values.take(set, numbers);
      distinct.emplace_back(numbers, numbers + size);
      raw.add_row(size, Int64Values::ids_per_number);
    }
  }
  std::vector<uint32_t> ids() const {
    std::vector<uint32_t> all;
    for (const RawBlock &block : raw.blocks)
      all.insert(all.end(), block.ids.begin(), block.ids.begin() + block.tokens);
    return all;
  }

  RawSets raw;
  std::vector<std::vector<uint64_t>> distinct;  // numbers of each set
};

// Ranks both sides, and returns the rank of each number that occurs.
std::map<uint64_t, uint32_t> ranks_of(const Int64Sets (&sets)[2], bool self_join, int threads) {
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(threads, stop);
  Int64Values values(self_join, memory);
  WaitingSide sides[] = {{sets[0], values, memory}, {self_join ? Int64Sets{} : sets[1], values, memory}};
  const uint64_t tokens = (sides[0].raw.tokens() + sides[1].raw.tokens()) / 2;
  const size_t before = memory.current(), most = before + values.ranking_bytes(tokens);
  const Ranking ranking = values.rank(sides[0].raw, sides[1].raw, 0, pool);
  EXPECT_LT(memory.current(), before);
  EXPECT_LT(memory.peak(), most + most / 4);
  std::map<uint64_t, uint32_t> ranks, counts[2];
  for (int side = 0; side < 2; ++side) {
    const std::vector<uint32_t> ids = sides[side].ids();
    EXPECT_EQ(sides[side].raw.tokens(), ids.size());
    size_t at = 0;
    for (size_t row = 0; row < sides[side].distinct.size(); ++row) {
      std::set<uint64_t> expected;
      for (const int64_t value : sets[side][row])
        expected.insert(static_cast<uint64_t>(value) ^ uint64_t{1} << 63);
      const std::vector<uint64_t> &numbers = sides[side].distinct[row];
      EXPECT_EQ(std::set(numbers.begin(), numbers.end()), expected);
      EXPECT_EQ(numbers.size(), expected.size());
      for (const uint64_t number : numbers) {
        const uint32_t id = ids.at(at++);
        const uint32_t rank = ranking.has_table() ? ranking.of(id) : ranking.rank_in(id);
        EXPECT_EQ(ranks.emplace(number, rank).first->second, rank) << "one number has one rank";
        ++counts[side][number];
      }
    }
  }
  EXPECT_EQ(ranking.distinct, ranks.size());
  std::map<uint32_t, uint32_t> frequencies;  // by rank
  for (const auto &[number, rank] : ranks) {
    const uint32_t left = counts[0][number], right = counts[1][number];
    const bool shared = self_join ? left > 1 : left > 0 && right > 0;
    EXPECT_EQ(rank != Ranking::none, shared);
    if (!shared) continue;
    EXPECT_TRUE(frequencies.emplace(rank, left + right).second) << "a rank is of one number";
  }
  EXPECT_EQ(frequencies.size(), ranking.ranks);
  uint32_t next = 0, least = 0;
  for (const auto &[rank, frequency] : frequencies) {
    EXPECT_EQ(rank, next++);
    EXPECT_GE(frequency, least);
    least = frequency;
  }
  return ranks;
}

TEST(Int64ValuesTest, RanksAscendByFrequencyWhateverTheThreads) {
  for (const ValueOf value_of : {far_apart, near, dense}) {
    const Int64Sets sets[] = {sets_of(1, value_of), sets_of(2, value_of)};
    for (const bool self_join : {true, false}) {
      const auto ranks = ranks_of(sets, self_join, 1);
      EXPECT_GT(ranks.size(), 5'000u);
      EXPECT_EQ(ranks_of(sets, self_join, 3), ranks);
    }
  }
}

// ---- Joins of so many distinct values that they wait ----

constexpr int32_t rows = 60'000, universe = 200'000;

// Sets in which some are edited copies of others. Their 1.8 million tokens have 200,000 values.
Input<int32_t> many_distinct(bool self_join) {
  RandomSets random(5);
  Input<int32_t> input;
  input.self_join = self_join;
  for (int32_t i = 0; i < rows; ++i) {
    const bool copy = i % 50 == 49;
    input.left.push_back(copy ? random.edited(input.left.back(), 2, universe) : random.set(30, universe));
    if (!self_join && i % 4 == 0) input.right.push_back(random.edited(input.left.back(), 1, universe));
  }
  return input;
}

Input<int64_t> with_values(const Input<int32_t> &input, ValueOf value_of) {
  Input<int64_t> result;
  result.self_join = input.self_join;
  for (const auto &[from, to] : {std::pair(&input.left, &result.left), {&input.right, &result.right}}) {
    for (const IntSet &set : *from) {
      to->emplace_back();
      for (const int32_t token : set) to->back().push_back(value_of(token));
      if (!set.empty() && set[0] % 2 == 0) to->back().push_back(to->back()[0]);  // repeated
    }
  }
  return result;
}

TEST(Int64Joins, HaveThePairsOfSmallIntegers) {
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = many_distinct(self_join);
    for (const Algorithm algorithm : {Algorithm::automatic, Algorithm::allpairs}) {
      const JoinSpec spec = make_spec(algorithm, Measure::jaccard, 0.7);
      JoinStats expected_stats;
      const std::vector<Pair> expected = run(spec, input, &expected_stats);
      EXPECT_GT(expected.size(), 500u);
      for (const ValueOf value_of : {far_apart, near, dense}) {
        JoinStats stats;
        EXPECT_EQ(difference(expected, run(spec, with_values(input, value_of), &stats)), "");
        EXPECT_EQ(stats.distinct_tokens, expected_stats.distinct_tokens);
        EXPECT_EQ(stats.tokens[0], expected_stats.tokens[0]);
        EXPECT_EQ(stats.spilled_bytes, 0u);
        const uint64_t tokens = stats.tokens[0] + stats.tokens[1], sets = stats.sets[0] + stats.sets[1];
        EXPECT_LE(stats.memory_peak,
                  12 * tokens + hashed_bytes<uint64_t>(tokens, stats.distinct_tokens) + 64 * sets);
      }
    }
  }
}

// Values that come once are filtered out where they are most. As small integers they are counted in an array.
TEST(Int64Joins, HaveThePairsOfMostlyUnsharedValues) {
  RandomSets random(7);
  Input<int32_t> input;
  input.self_join = true;
  int32_t next = 0;
  for (int32_t i = 0; i < 20'000; ++i) {
    IntSet set;
    for (int k = 0; k < 24; ++k) set.push_back(next++);
    if (i % 20 == 0) set = random.edited(input.left.empty() ? set : input.left.back(), 2, next);
    input.left.push_back(set);
  }
  const JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  JoinStats expected_stats, stats;
  const std::vector<Pair> expected = run(spec, input, &expected_stats);
  EXPECT_GT(expected.size(), 500u);
  ASSERT_TRUE(pays_to_filter(expected_stats.tokens[0], expected_stats.distinct_tokens));
  EXPECT_EQ(difference(expected, run(spec, with_values(input, far_apart), &stats)), "");
  EXPECT_EQ(stats.distinct_tokens, expected_stats.distinct_tokens);
}

// The one limit is reached before values begin to wait, the other one afterwards.
TEST(Int64Joins, HaveThesePairsBeyondTheMemoryLimit) {
  for (const bool self_join : {true, false}) {
    const Input<int32_t> input = many_distinct(self_join);
    JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
    const std::vector<Pair> expected = run(spec, input);
    for (const ValueOf value_of : {far_apart, near, dense}) {
      for (const size_t limit : {4, 20}) {
        SCOPED_TRACE(std::to_string(limit) + " MB");
        JoinStats stats;
        spec.memory_limit = limit << 20;
        EXPECT_EQ(difference(expected, run(spec, with_values(input, value_of), &stats)), "");
        EXPECT_LE(stats.memory_peak, spec.memory_limit);
        EXPECT_GT(stats.spilled_bytes, 0u);
        // With this limit there is no file.
        spec.memory_limit = stats.one_part_limit;
        EXPECT_EQ(difference(expected, run(spec, with_values(input, value_of), &stats)), "");
        EXPECT_EQ(stats.spilled_bytes, 0u);
      }
    }
  }
}

TEST(Int64Joins, GivingUpDoesNotWaitForTheFile) {
  const Input<int64_t> input = with_values(many_distinct(true), far_apart);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  spec.self_join = true;
  const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
  feed(*engine, input);
  set_interruption([] { return true; });
  EXPECT_THROW(engine->set_spill_file(unlinked_file(), UINT64_MAX), Cancelled);
  set_interruption(nullptr);
}

TEST(Int64Joins, OfWaitingValuesTakeNoOthers) {
  const Input<int64_t> input = with_values(many_distinct(true), far_apart);
  JoinSpec spec = make_spec(Algorithm::automatic, Measure::jaccard, 0.7);
  spec.self_join = true;
  const std::unique_ptr<JoinEngine> engine = make_cpu_engine(spec);
  feed(*engine, input);
  const int32_t narrow = 1;
  const std::string_view text = "1";
  EXPECT_THROW(add_set(*engine, Side::left, std::span(&narrow, 1)), Error);
  EXPECT_THROW(add_set(*engine, Side::left, std::span(&text, 1)), Error);
}

}  // namespace
}  // namespace simjoin::test
