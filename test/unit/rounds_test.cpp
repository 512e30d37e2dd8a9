// The renumbered ranks of a part, and the pairs that a semi or anti join still needs.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/handover/wanted_pairs.hpp"
#include "core/rounds/beyond_memory/round_ranks.hpp"

namespace simjoin::test {
namespace {

TEST(RoundRanks, AreNumberedInOrderWithAndWithoutTable) {
  for (const uint32_t ranks : {1u, 63u, 64u, 65u, 1'000u}) {
    std::mt19937 random(ranks);
    MemoryCounter memory;
    RoundRanks plain(ranks, memory), table(ranks, memory);
    std::vector<bool> marked(ranks, false);
    for (uint32_t i = 0; i < ranks / 3 + 1; ++i) {
      const auto rank = static_cast<uint32_t>(random() % ranks);
      EXPECT_EQ(plain.mark(rank), !marked[rank]);
      EXPECT_EQ(table.mark(rank), !marked[rank]);
      if (!marked[rank]) {
        plain.add_marked(1);
        table.add_marked(1);
      }
      marked[rank] = true;
    }
    const size_t before = memory.current();
    plain.number(false, StopFlag());
    table.number(true, StopFlag());
    EXPECT_GE(memory.current() - before, plain.numbering_bytes(false) + table.numbering_bytes(true));
    uint32_t next = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const uint32_t expected = marked[rank] ? next++ : RoundRanks::none;
      ASSERT_EQ(plain.of(rank), expected) << rank << " of " << ranks;
      ASSERT_EQ(table.of(rank), expected) << rank << " of " << ranks;
    }
  }
}

// Eight rows. At first, none of them is done.
struct DoneList {
  void set(uint32_t row) { bits |= static_cast<uint8_t>(1u << row); }

  uint8_t bits = 0;
  DoneRows rows{&bits};
};

using Answer = WantedPairs::Answer;

TEST(WantedPairs, ARowGetsAFewPairsFirstAndNoneOnceItIsDone) {
  MemoryCounter memory;
  DoneList done;
  WantedPairs demand(done.rows, false, false, 4, memory);
  for (uint32_t i = 0; i < WantedPairs::first_pairs; ++i) {
    ASSERT_EQ(demand.ask(1, i, WantedPairs::first_pairs), Answer::now);
    demand.note(1, i);
  }
  EXPECT_EQ(demand.ask(1, 77, WantedPairs::first_pairs), Answer::later);
  EXPECT_EQ(demand.ask(1, 77, WantedPairs::no_limit), Answer::now);
  EXPECT_EQ(demand.ask(2, 77, WantedPairs::first_pairs), Answer::now);
  done.set(1);
  EXPECT_EQ(demand.ask(1, 77, WantedPairs::no_limit), Answer::never);
}

TEST(WantedPairs, APairOfASelfJoinIsWantedAsLongAsOneOfItsRowsIs) {
  MemoryCounter memory;
  DoneList done;
  WantedPairs demand(done.rows, true, false, 3, memory);
  done.set(0);
  EXPECT_EQ(demand.ask(1, 0, WantedPairs::first_pairs), Answer::now);
  EXPECT_EQ(demand.ask(0, 1, WantedPairs::first_pairs), Answer::now);
  done.set(1);
  EXPECT_EQ(demand.ask(1, 0, WantedPairs::first_pairs), Answer::never);
  EXPECT_EQ(demand.ask(2, 0, WantedPairs::first_pairs), Answer::now);
}

TEST(WantedPairs, PostponedRowsAreTheFirstOfTheirPairs) {
  MemoryCounter memory;
  DoneList done;
  WantedPairs demand(done.rows, true, true, 4, memory);
  demand.postpone(2, 1);
  demand.postpone(3, 1);
  done.set(3);
  uint32_t count = 0;
  const Buffer<uint8_t> &first = demand.end_postponing(count);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(std::vector<uint8_t>(first.data(), first.data() + 4), (std::vector<uint8_t>{0, 1, 1, 0}));
  // The pair of the two comes in only one order.
  EXPECT_EQ(demand.ask(1, 2, WantedPairs::no_limit), Answer::never);
  EXPECT_EQ(demand.ask(2, 1, WantedPairs::no_limit), Answer::now);
  EXPECT_EQ(demand.ask(1, 0, WantedPairs::no_limit), Answer::now);
}

}  // namespace
}  // namespace simjoin::test
