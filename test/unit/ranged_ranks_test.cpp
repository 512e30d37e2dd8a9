// Ranks made range by range: those of one table, whatever the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plain_values.hpp"
#include "core/ranged_ranks.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

constexpr size_t block_bytes = size_t{1} << 14;
constexpr int32_t smallest = -150'000;
constexpr uint32_t span = 300'000;

// Sets with values that are in one of them, in a few, in more than a byte can count, and in nearly all.
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

// A side as an engine has it before tokens have ranks: in the file but for its last block.
struct SideOfJoin {
  SideOfJoin(const std::vector<IntSet> &sets, PlainValues &values, SpillFile &file, MemoryCounter &memory)
      : raw(block_bytes, memory) {
    raw.spill_to(file);
    for (const IntSet &set : sets) raw.add_row(values.take(set, raw.room(set.size())));
  }

  // Returns the ids of all rows; the blocks stay where they are.
  std::vector<uint32_t> ids(const SpillFile &file) {
    std::vector<uint32_t> all;
    for (RawBlock &block : raw.blocks) {
      const bool in_file = block.ids.empty();
      raw.load(block, file);
      all.insert(all.end(), block.ids.begin(), block.ids.begin() + block.tokens);
      if (in_file) block.ids.release();
    }
    return all;
  }

  RawSets raw;
};

// Returns the ranks by number, by definition; `none` for those that cannot be shared.
std::vector<uint32_t> expected_ranks(const std::vector<uint32_t> (&numbers)[2], uint32_t first,
                                     bool self_join) {
  std::vector<uint64_t> counts[] = {std::vector<uint64_t>(span), std::vector<uint64_t>(span)};
  for (int side = 0; side < 2; ++side) {
    for (const uint32_t number : numbers[side]) ++counts[side].at(number - first);
  }
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (uint32_t i = 0; i < span; ++i) {
    const bool shared = self_join ? counts[0][i] > 1 : counts[0][i] > 0 && counts[1][i] > 0;
    if (shared) order.emplace_back(counts[0][i] + counts[1][i], i);
  }
  std::sort(order.begin(), order.end());
  std::vector<uint32_t> ranks(span, Ranking::none);
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank].second] = rank;
  return ranks;
}

const std::vector<IntSet> &sets_of_side(int side) {
  static const std::vector<IntSet> sets[] = {sets_of(1), sets_of(2)};
  return sets[side];
}

void expect_ranks(bool self_join, size_t bytes, size_t table_bytes, int threads) {
  SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(table_bytes) + " for a table, " +
               (self_join ? "one side" : "two sides"));
  MemoryCounter memory;
  const StopFlag stop;
  WorkerPool pool(threads, stop);
  SpillFile file(unlinked_file(), UINT64_MAX, stop);
  PlainValues values(self_join, memory);
  SideOfJoin left(sets_of_side(0), values, file, memory);
  SideOfJoin right(self_join ? std::vector<IntSet>{} : sets_of_side(1), values, file, memory);
  const uint32_t first = static_cast<uint32_t>(smallest) ^ (uint32_t{1} << 31);
  const std::vector<uint32_t> before[] = {left.ids(file), right.ids(file)};
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
  const std::vector<uint32_t> expected = expected_ranks(before, first, self_join);
  EXPECT_EQ(ranking.ranks, span - std::count(expected.begin(), expected.end(), Ranking::none));
  const std::vector<uint32_t> after[] = {left.ids(file), right.ids(file)};
  for (int side = 0; side < 2; ++side) {
    ASSERT_EQ(after[side].size(), before[side].size());
    for (size_t i = 0; i < after[side].size(); ++i) {
      const uint32_t rank = table ? ranking.of(after[side][i]) : ranking.rank_in(after[side][i]);
      ASSERT_EQ(rank, expected[before[side][i] - first]);
    }
  }
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

}  // namespace
}  // namespace simjoin::test
