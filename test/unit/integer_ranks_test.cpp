// Ranks made range by range, or by hash tables, are those of one table, whatever the memory and the threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/sets/hashed_ranks.hpp"
#include "core/sets/int32_values.hpp"
#include "core/sets/ranged_ranks.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr size_t block_bytes = size_t{1} << 14;
constexpr int32_t smallest = -150'000;
constexpr uint32_t span = 300'000;

// Sets with values that are in one set, in a few, in more than a byte can count, and in nearly all.
std::vector<IntSet> sets_of(uint32_t seed) {
  RandomSets random(seed);
  std::vector<IntSet> sets;
  for (int i = 0; i < 9'000; ++i) {
    IntSet set = random.set(random.between(0, 12), span, 2.5);
    for (int32_t &token : set) token += smallest;
    set.push_back(smallest + static_cast<int32_t>(span) - 1);
    if (i % 3 == 0) set.push_back(i % 600 + smallest);
    sets.push_back(set);
  }
  sets.push_back({smallest});
  return sets;
}

// A side as an engine has it before tokens have ranks. If there is a file, it holds all blocks but the last.
struct SideOfJoin {
  SideOfJoin(const std::vector<IntSet> &sets, Int32Values &values, SpillFile *file, MemoryCounter &memory)
      : raw(block_bytes, memory) {
    if (file != nullptr) raw.spill_to(*file);
    for (const IntSet &set : sets) raw.add_row(values.take(set, raw.room(set.size())));
  }

  // Returns the ids of all rows. The blocks stay in place.
  std::vector<uint32_t> ids(const SpillFile *file = nullptr) {
    std::vector<uint32_t> all;
    for (RawBlock &block : raw.blocks) {
      const bool in_file = block.ids.empty() && block.tokens > 0;
      if (in_file) raw.load(block, *file);
      all.insert(all.end(), block.ids.begin(), block.ids.begin() + block.tokens);
      if (in_file) block.ids.release();
    }
    return all;
  }

  RawSets raw;
};

// Returns the ranks by number, by definition. Values that cannot be shared have none.
std::map<uint32_t, uint32_t> expected_ranks(const std::vector<uint32_t> (&numbers)[2], bool self_join) {
  std::map<uint32_t, std::array<uint64_t, 2>> counts;
  for (const int side : {0, 1}) {
    for (const uint32_t number : numbers[side]) ++counts[number][side];
  }
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (const auto &[number, count] : counts) {
    const bool shared = self_join ? count[0] > 1 : count[0] > 0 && count[1] > 0;
    if (shared) order.emplace_back(count[0] + count[1], number);
  }
  std::sort(order.begin(), order.end());
  std::map<uint32_t, uint32_t> ranks;
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank].second] = rank;
  return ranks;
}

const std::vector<IntSet> &sets_of_side(int side) {
  static const std::vector<IntSet> sets[] = {sets_of(1), sets_of(2)};
  return sets[side];
}

// Expects that `after` has the ranks that the numbers in `before` have by definition.
void expect_ranks_of(const Ranking &ranking, const std::vector<uint32_t> (&before)[2],
                     const std::vector<uint32_t> (&after)[2], bool self_join) {
  const std::map<uint32_t, uint32_t> expected = expected_ranks(before, self_join);
  EXPECT_EQ(ranking.ranks, expected.size());
  for (const int side : {0, 1}) {
    ASSERT_EQ(after[side].size(), before[side].size());
    for (size_t i = 0; i < after[side].size(); ++i) {
      const uint32_t id = after[side][i];
      const auto found = expected.find(before[side][i]);
      ASSERT_EQ(ranking.has_table() ? ranking.of(id) : ranking.rank_in(id),
                found == expected.end() ? Ranking::none : found->second);
    }
  }
}

void expect_ranks(bool self_join, size_t bytes, size_t table_bytes, int threads) {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(table_bytes) + " for a table, " +
               (self_join ? "one side" : "two sides"));
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(threads, stop);
  SpillFile file(unlinked_file(), UINT64_MAX, stop);
  Int32Values values(self_join, memory);
  SideOfJoin left(sets_of_side(0), values, &file, memory);
  SideOfJoin right(self_join ? std::vector<IntSet>{} : sets_of_side(1), values, &file, memory);
  const uint32_t first = static_cast<uint32_t>(smallest) ^ (uint32_t{1} << 31);
  const std::vector<uint32_t> before[] = {left.ids(&file), right.ids(&file)};
  const size_t used = memory.current();
  RangedNumbers numbers{{&left.raw}, first, span};
  if (!self_join) numbers.sides.push_back(&right.raw);
  ASSERT_TRUE(RangedRanks::takes(numbers));
  const Ranking ranking = RangedRanks(numbers, file, bytes, pool, memory).rank(table_bytes);
  const bool table = table_bytes >= span * sizeof(uint32_t);
  EXPECT_EQ(ranking.has_table(), table);
  if (!table) {
    EXPECT_LT(memory.peak(), used + span * sizeof(uint32_t));
  }
  expect_ranks_of(ranking, before, {left.ids(&file), right.ids(&file)}, self_join);
}

TEST(RangedRanksTest, AreThoseOfAllValuesTogether) {
  for (const bool self_join : {true, false}) {
    for (const int threads : {1, 3}) {
      expect_ranks(self_join, 0, 0, threads);
      expect_ranks(self_join, size_t{1} << 19, 0, threads);
      expect_ranks(self_join, 0, size_t{1} << 21, threads);
    }
  }
}

// In memory: values in a range of this width, which one table covers, or one table per thread if that takes
// little memory.
void expect_ranks_in_memory(bool self_join, int32_t width, int threads) {
  SCOPED_TRACE(std::string(self_join ? "one side, " : "two sides, ") + std::to_string(width) +
               " values, threads: " + std::to_string(threads));
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(threads, stop);
  Int32Values values(self_join, memory);
  const auto folded = [&](int side) {
    std::vector<IntSet> sets = sets_of_side(side);
    for (IntSet &set : sets) {
      for (int32_t &token : set) token = (token - smallest) % width + smallest;
    }
    return sets;
  };
  SideOfJoin left(folded(0), values, nullptr, memory);
  SideOfJoin right(self_join ? std::vector<IntSet>{} : folded(1), values, nullptr, memory);
  const std::vector<uint32_t> before[] = {left.ids(), right.ids()};
  const Ranking ranking = values.rank(left.raw, right.raw, nullptr, SIZE_MAX, pool);
  EXPECT_TRUE(ranking.has_table());
  expect_ranks_of(ranking, before, {left.ids(), right.ids()}, self_join);
}

TEST(PlainRanksTest, AreThoseOfAllValuesTogether) {
  for (const bool self_join : {true, false}) {
    for (const int threads : {1, 3}) {
      for (const int32_t width : {20'000, 60'000}) expect_ranks_in_memory(self_join, width, threads);
    }
  }
}

// Values in the order of their frequency are their ranks, from one of them on, without a table. The last
// value is the largest of the type.
TEST(PlainRanksTest, TakeNoTableIfFrequenciesAscend) {
  for (const bool self_join : {true, false}) {
    Input<int32_t> input{sets_of_side(0), self_join ? IntSets() : sets_of_side(1), self_join};
    number_by_frequency(input, 0);
    int32_t largest = 0;
    for (const IntSet &set : input.left)
      largest = std::max(largest, *std::max_element(set.begin(), set.end()));
    for (IntSets *side : {&input.left, &input.right}) {
      for (IntSet &set : *side) {
        for (int32_t &token : set) token += INT32_MAX - largest;
      }
    }
    MemoryCounter memory;
    const StopFlag stop;
    WorkerPool pool(3, stop);
    Int32Values values(self_join, memory);
    SideOfJoin left(input.left, values, nullptr, memory), right(input.right, values, nullptr, memory);
    const std::vector<uint32_t> numbers[] = {left.ids(), right.ids()};
    const Ranking ranking = values.rank(left.raw, right.raw, nullptr, SIZE_MAX, pool);
    EXPECT_FALSE(ranking.has_table());
    EXPECT_TRUE(ranking.in_order_of_values);
    expect_ranks_of(ranking, numbers, numbers, self_join);
  }
}

// No value has a rank, and the largest is that of the type.
TEST(PlainRanksTest, NoneIfNothingIsShared) {
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(1, stop);
  Int32Values values(true, memory);
  SideOfJoin left({{INT32_MAX - 2, INT32_MAX}, {INT32_MAX - 1}}, values, nullptr, memory);
  SideOfJoin right({}, values, nullptr, memory);
  const Ranking ranking = values.rank(left.raw, right.raw, nullptr, SIZE_MAX, pool);
  EXPECT_EQ(ranking.ranks, 0u);
  for (const uint32_t id : left.ids()) EXPECT_EQ(ranking.of(id), Ranking::none);
}

// Returns the sets with values spread over the whole type, including the least and the largest.
std::vector<IntSet> far_apart(std::vector<IntSet> sets) {
  for (IntSet &set : sets) {
    for (int32_t &token : set) token *= 7001;
  }
  for (size_t i = 0; i < sets.size(); i += 5) sets[i].push_back(INT32_MIN);
  for (size_t i = 0; i < sets.size(); i += 7) sets[i].push_back(INT32_MAX);
  sets.push_back({0});
  return sets;
}

// `distinct` is the number of values that the tables expect.
void expect_hashed_ranks(bool self_join, bool in_file, uint64_t distinct, int threads) {
  SCOPED_TRACE(std::string(self_join ? "one side, " : "two sides, ") + (in_file ? "in a file, " : "") +
               std::to_string(distinct) + " expected, threads: " + std::to_string(threads));
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(threads, stop);
  SpillFile spilled(unlinked_file(), UINT64_MAX, stop);
  SpillFile *const file = in_file ? &spilled : nullptr;
  Int32Values values(self_join, memory);
  SideOfJoin left(far_apart(sets_of_side(0)), values, file, memory);
  SideOfJoin right(self_join ? std::vector<IntSet>{} : far_apart(sets_of_side(1)), values, file, memory);
  const std::vector<uint32_t> before[] = {left.ids(file), right.ids(file)};
  std::set<uint32_t> numbers(before[0].begin(), before[0].end());
  numbers.insert(before[1].begin(), before[1].end());
  std::vector<RawSets *> sides = {&left.raw};
  if (!self_join) sides.push_back(&right.raw);
  const Ranking ranking = rank_hashed<uint32_t>(sides, RankOrder::frequency, file, distinct, pool, memory);
  EXPECT_EQ(ranking.distinct, numbers.size());
  expect_ranks_of(ranking, before, {left.ids(file), right.ids(file)}, self_join);
}

TEST(HashedRanksTest, AreThoseOfAllValuesTogether) {
  for (const bool self_join : {true, false}) {
    for (const int threads : {1, 3}) {
      expect_hashed_ranks(self_join, false, 20'000, threads);
      expect_hashed_ranks(self_join, true, 0, threads);
    }
  }
}

// Each number that sets share has one rank, and no other number has it.
TEST(HashedRanksTest, AreOneForEachNumberInAnyOrder) {
  for (const bool self_join : {true, false}) {
    MemoryCounter memory;
    const StopFlag stop;
    WorkerPool pool(3, stop);
    Int32Values values(self_join, memory);
    SideOfJoin left(far_apart(sets_of_side(0)), values, nullptr, memory);
    SideOfJoin right(self_join ? std::vector<IntSet>{} : far_apart(sets_of_side(1)), values, nullptr, memory);
    const std::vector<uint32_t> before[] = {left.ids(), right.ids()};
    const Ranking ranking = values.rank(left.raw, right.raw, nullptr, 0, pool, RankOrder::any);
    const std::map<uint32_t, uint32_t> shared = expected_ranks(before, self_join);
    ASSERT_EQ(ranking.ranks, shared.size());
    std::map<uint32_t, uint32_t> rank_of;
    std::set<uint32_t> ranks;
    const std::vector<uint32_t> after[] = {left.ids(), right.ids()};
    for (const int side : {0, 1}) {
      for (size_t i = 0; i < after[side].size(); ++i) {
        const uint32_t number = before[side][i], rank = ranking.rank_in(after[side][i]);
        ASSERT_EQ(rank != Ranking::none, shared.contains(number));
        if (rank == Ranking::none) continue;
        ASSERT_EQ(rank_of.emplace(number, rank).first->second, rank);
        ranks.insert(rank);
      }
    }
    EXPECT_EQ(ranks.size(), shared.size());
  }
}

// Sets whose values lie far apart. Nine of ten are in one set only.
std::vector<IntSet> mostly_unshared(uint32_t seed) {
  RandomSets random(seed);
  std::vector<IntSet> sets(3'000);
  for (IntSet &set : sets) {
    for (int i = 0; i < 90; ++i) set.push_back(random.between(INT32_MIN, INT32_MAX));
    for (int i = 0; i < 10; ++i) set.push_back(random.between(0, 30'000) * 60'013);
  }
  return sets;
}

void expect_few_counted(bool self_join, bool in_file, int threads) {
  SCOPED_TRACE(std::string(self_join ? "one side, " : "two sides, ") + (in_file ? "in a file, " : "") +
               std::to_string(threads) + " threads");
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(threads, stop);
  SpillFile spilled(unlinked_file(), UINT64_MAX, stop);
  SpillFile *const file = in_file ? &spilled : nullptr;
  Int32Values values(self_join, memory);
  SideOfJoin left(mostly_unshared(3), values, file, memory);
  SideOfJoin right(self_join ? std::vector<IntSet>{} : mostly_unshared(4), values, file, memory);
  const std::vector<uint32_t> before[] = {left.ids(file), right.ids(file)};
  const std::set<uint32_t> numbers[] = {{before[0].begin(), before[0].end()},
                                        {before[1].begin(), before[1].end()}};
  std::set<uint32_t> all = numbers[0];
  all.insert(numbers[1].begin(), numbers[1].end());
  const size_t tokens = before[0].size() + before[1].size(), held = memory.peak();
  ASSERT_TRUE(pays_to_filter(tokens, all.size()));
  const Ranking ranking = values.rank(left.raw, right.raw, file, 0, pool);
  EXPECT_EQ(ranking.distinct, all.size());
  expect_ranks_of(ranking, before, {left.ids(file), right.ids(file)}, self_join);
  // A table of all numbers takes more.
  EXPECT_LE(memory.peak() - held, 8 * tokens);
}

TEST(HashedRanksTest, CountOnlyNumbersThatMayBeRepeated) {
  for (const bool self_join : {true, false}) {
    expect_few_counted(self_join, false, 3);
    expect_few_counted(self_join, true, 1);
  }
}

}  // namespace
}  // namespace simjoin::test
