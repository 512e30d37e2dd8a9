// Sets in shared blocks, and the memory of the blocks.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "core/base/host_pieces.hpp"
#include "core/sets/set_blocks.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

// Writes the sets and returns the blocks in the order of their rows.
template <class Token>
std::vector<SharedBlock> written(BlockWriter &writer, Side side,
                                 const std::vector<std::vector<Token>> &sets) {
  std::vector<SharedBlock> blocks;
  for (const std::vector<Token> &set : sets) {
    const auto count = static_cast<uint32_t>(set.size());
    SetSlice row = row_of(std::span<const Token>(set), count);
    if (SharedBlock full = writer.append(side, row)) blocks.push_back(std::move(full));
  }
  if (SharedBlock last = writer.take_last(side)) blocks.push_back(std::move(last));
  return blocks;
}

template <class Token>
std::vector<std::vector<Token>> read(const std::vector<SharedBlock> &blocks) {
  std::vector<std::vector<Token>> sets;
  for (const SharedBlock &block : blocks) {
    EXPECT_EQ(block->first_row(), sets.size());
    for_each_integer_set(block->all(), [&](auto set) { sets.emplace_back(set.begin(), set.end()); });
  }
  return sets;
}

TEST(SetBlocks, HoldWhatWasWritten) {
  for (const int32_t longest : {0, 3, 90, 50'000}) {
    RandomSets random(1);
    std::vector<std::vector<int64_t>> wide;
    std::vector<IntSet> narrow;
    const int rows = longest > 1000 ? 200 : 100'000;
    for (int i = 0; i < rows; ++i) {
      IntSet set(static_cast<size_t>(random.between(0, longest)));
      std::iota(set.begin(), set.end(), i);
      wide.emplace_back(set.begin(), set.end());
      narrow.push_back(std::move(set));
    }
    MemoryCounter memory;
    {
      BlockWriter writer(memory);
      const auto narrow_blocks = written(writer, Side::left, narrow);
      const auto wide_blocks = written(writer, Side::right, wide);
      EXPECT_EQ(read<int32_t>(narrow_blocks), narrow);
      EXPECT_EQ(read<int64_t>(wide_blocks), wide);
      EXPECT_EQ(writer.open_bytes(), 0u);
      EXPECT_GT(memory.current(), 0u);
    }
    EXPECT_EQ(memory.current(), 0u);
  }
}

TEST(SetBlocks, ASetLargerThanABlockHasOneOfItsOwn) {
  std::vector<IntSet> sets = {{1, 2, 3}, IntSet(3'000'000, 7), {4}};
  MemoryCounter memory;
  BlockWriter writer(memory);
  const auto blocks = written(writer, Side::left, sets);
  EXPECT_EQ(read<int32_t>(blocks), sets);
  EXPECT_GE(blocks.size(), 2u);
}

TEST(SetBlocks, SlicesAreRowsOfTheBlock) {
  std::vector<IntSet> sets;
  for (int i = 0; i < 100; ++i) sets.push_back(IntSet(static_cast<size_t>(i % 7), i));
  MemoryCounter memory;
  BlockWriter writer(memory);
  const auto blocks = written(writer, Side::left, sets);
  ASSERT_EQ(blocks.size(), 1u);
  for (const uint32_t first : {0u, 1u, 50u, 99u}) {
    for (const uint32_t rows : {0u, 1u, 100u - first}) {
      const SetSlice slice = blocks[0]->slice(first, rows);
      ASSERT_EQ(slice.rows, rows);
      const auto *tokens = reinterpret_cast<const int32_t *>(slice.tokens);
      uint64_t count = 0;
      for (uint32_t i = 0; i < rows; ++i) {
        ASSERT_EQ(slice.lengths[i], sets[first + i].size());
        for (uint32_t k = 0; k < slice.lengths[i]; ++k) {
          EXPECT_EQ(tokens[count + k], static_cast<int32_t>(first + i));
        }
        count += slice.lengths[i];
      }
      EXPECT_EQ(slice.token_count, count);
    }
  }
}

TEST(SetBlocks, EmptySetsHaveAnyWidth) {
  MemoryCounter memory;
  BlockWriter writer(memory);
  const int64_t large = int64_t{1} << 40;
  std::vector<SharedBlock> blocks;
  const auto add = [&](const int64_t *tokens, uint32_t count, bool wide) {
    SetSlice row = row_of(std::span(tokens, count), count);
    if (!wide) row.type = TokenType::int4;
    if (SharedBlock full = writer.append(Side::left, row)) blocks.push_back(std::move(full));
  };
  add(nullptr, 0, false);
  add(&large, 1, true);
  add(nullptr, 0, false);
  blocks.push_back(writer.take_last(Side::left));
  EXPECT_EQ(read<int64_t>(blocks), (std::vector<std::vector<int64_t>>{{}, {large}, {}}));
}

// The pages of the next blocks are touched while one is filled.
TEST(SetBlocks, OfALargeJoinAreLarge) {
  MemoryCounter memory;
  memory.add(size_t{2} << 30);
  const size_t kept = HostPieces::of_process().kept();
  {
    BlockWriter writer(memory);
    const uint32_t most = PiecesAhead::piece_bytes / sizeof(int32_t);
    std::vector<int32_t> tokens(most + 1000);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::vector<SharedBlock> blocks;
    for (const uint32_t count : {most * 3 / 5, most * 3 / 5, 5u, most + 1000, 70u}) {
      SetSlice row = row_of(std::span<const int32_t>(tokens.data(), count), count);
      while (row.rows > 0) {
        if (SharedBlock full = writer.append(Side::left, row)) blocks.push_back(std::move(full));
      }
    }
    blocks.push_back(writer.take_last(Side::left));
    ASSERT_EQ(blocks.size(), 4u);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i]->piece().bytes == PiecesAhead::piece_bytes, i != 2) << i;
      EXPECT_EQ(blocks[i]->first_row(), std::vector({0u, 1u, 3u, 4u})[i]);
      const SetSlice all = blocks[i]->all();
      EXPECT_EQ(std::memcmp(all.tokens, tokens.data(), all.lengths[0] * sizeof(int32_t)), 0);
    }
  }
  EXPECT_EQ(HostPieces::of_process().kept(), kept);
}

TEST(HostPieces, AreUsedAgain) {
  HostPieces &pieces = HostPieces::of_process();
  const HostPiece piece = pieces.take(1);
  ASSERT_EQ(piece.bytes, HostPieces::usual_bytes);
  std::memset(piece.data, 1, piece.bytes);
  pieces.give_back(piece);
  const size_t kept = pieces.kept();
  const HostPiece again = pieces.take(HostPieces::usual_bytes);
  EXPECT_EQ(again.data, piece.data);
  EXPECT_EQ(pieces.kept() + HostPieces::usual_bytes, kept);
  pieces.give_back(again);
  const HostPiece large = pieces.take(HostPieces::usual_bytes + 1);
  EXPECT_GT(large.bytes, HostPieces::usual_bytes);
  std::memset(large.data, 1, large.bytes);
  pieces.give_back(large);
  EXPECT_EQ(pieces.kept(), kept);
}

TEST(HostPieces, WhatIsKeptCanBeFreed) {
  HostPieces &pieces = HostPieces::of_process();
  static int unlocked;
  unlocked = 0;
  HostPiece out = pieces.take(1), kept = pieces.take(1);
  kept.unlock = [](void *) noexcept { ++unlocked; };
  pieces.give_back(kept);
  pieces.free_kept();
  EXPECT_EQ(pieces.kept(), 0u);
  EXPECT_EQ(unlocked, 1);
  std::memset(out.data, 1, out.bytes);
  pieces.give_back(out);
  EXPECT_EQ(pieces.kept(), HostPieces::usual_bytes);
}

TEST(HostPieces, NoMoreThanTheLimitIsKept) {
  HostPieces &pieces = HostPieces::of_process();
  std::vector<HostPiece> taken;
  for (size_t bytes = 0; bytes <= HostPieces::most_kept; bytes += HostPieces::usual_bytes) {
    taken.push_back(pieces.take(HostPieces::usual_bytes));
  }
  for (const HostPiece &piece : taken) pieces.give_back(piece);
  EXPECT_EQ(pieces.kept(), HostPieces::most_plain_kept);
  for (HostPiece &piece : taken) {
    piece = pieces.take(HostPieces::usual_bytes);
    piece.unlock = [](void *) noexcept {};
  }
  for (const HostPiece &piece : taken) pieces.give_back(piece);
  EXPECT_EQ(pieces.kept(), HostPieces::most_kept);
}

}  // namespace
}  // namespace simjoin::test
