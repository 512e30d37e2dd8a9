// Tiles of a join that is cut: every pair of rows belongs to one pair of tiles. The tests need no GPU.
#include "cuda/engine/tile_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace simjoin::gpu {
namespace {

std::vector<uint32_t> lengths_of(uint32_t rows) {
  std::vector<uint32_t> lengths(rows);
  for (uint32_t row = 0; row < rows; ++row) lengths[row] = row * 7919 % 41;
  return lengths;
}

// Cuts rows that lie together `together` at a time.
std::vector<TileRows> cut(const std::vector<uint32_t> &lengths, uint64_t parts, uint64_t most_rows,
                          size_t together = SIZE_MAX) {
  std::vector<RowLengths> rows;
  for (std::span<const uint32_t> left = lengths; !left.empty();) {
    const auto some = left.first(std::min(together, left.size()));
    rows.push_back({some, std::accumulate(some.begin(), some.end(), uint64_t{0})});
    left = left.subspan(some.size());
  }
  return cut_rows(rows, parts, most_rows);
}

// Expects each pair of rows once, the smaller row first in a self-join.
void expect_all_pairs(const std::vector<TilePair> &pairs, uint32_t left, uint32_t right, bool self_join) {
  std::vector<int> seen(size_t{left} * right, 0);
  for (const TilePair &pair : pairs)
    for (uint32_t l = pair.left.begin; l < pair.left.end; ++l) {
      const TileRows &partners = pair.same ? pair.left : pair.right;
      for (uint32_t r = pair.same ? l + 1 : partners.begin; r < partners.end; ++r)
        ++seen[size_t{l} * right + r];
    }
  for (uint32_t l = 0; l < left; ++l)
    for (uint32_t r = 0; r < right; ++r)
      ASSERT_EQ(seen[size_t{l} * right + r], self_join && l >= r ? 0 : 1) << l << ", " << r;
}

TEST(TilePairs, RowsAreCutIntoRunsOfAboutEqualWeight) {
  const std::vector<uint32_t> lengths = lengths_of(1'000);
  const std::vector<TileRows> tiles = cut(lengths, 8, UINT64_MAX);
  ASSERT_EQ(tiles.size(), 8u);
  EXPECT_EQ(tiles.front().begin, 0u);
  EXPECT_EQ(tiles.back().end, 1'000u);
  const double all = std::accumulate(tiles.begin(), tiles.end(), 0.0,
                                     [](double sum, auto &tile) { return sum + tile.weight; });
  for (size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(tiles[i].begin, i == 0 ? 0 : tiles[i - 1].end);
    // Each tile is too large by a row at most, and the last one too small by these.
    EXPECT_NEAR(tiles[i].weight, all / 8, i + 1 < tiles.size() ? 42 : 8 * 42);
  }
  for (const TileRows &tile : cut(lengths, 8, 30)) EXPECT_LE(tile.count(), 30u);
  EXPECT_EQ(cut(lengths, 1, UINT64_MAX).size(), 1u);
  EXPECT_TRUE(cut({}, 3, UINT64_MAX).empty());
}

// A device of 141 GB has the memory for 800,000,000 sets of 10 tokens, but they have too many tokens.
TEST(TilePairs, TwoTilesStayWithinTheNumbersOfAJoin) {
  constexpr double device = 141e9;
  for (const uint64_t millions : {100u, 400u, 429u, 430u, 800u, 1000u, 4000u}) {
    for (const uint64_t tokens : {0u, 1u, 10u}) {
      const uint64_t rows = millions * 1'000'000;
      const JoinSize size{100.0 * static_cast<double>(rows), rows, rows * tokens};
      EXPECT_EQ(size.fits(device), millions < 1410 && rows * tokens < UINT32_MAX) << millions;
      const double tiles = size.tiles(device);
      EXPECT_LT(static_cast<double>(std::max(rows, size.tokens)) * 2 / tiles, UINT32_MAX) << millions;
      EXPECT_LE(size.bytes * 2 / tiles, device) << millions;
    }
  }
  EXPECT_EQ((JoinSize{162e9, 1'000'000'000, 9'800'000'000}.tiles(84e9)), 5);
}

TEST(TilePairs, RowsThatLieTogetherAreCutAsOthers) {
  const std::vector<uint32_t> lengths = lengths_of(1'000);
  for (const uint64_t parts : {1, 3, 8, 700}) {
    for (const uint64_t most_rows : {uint64_t{1}, uint64_t{30}, UINT64_MAX}) {
      const std::vector<TileRows> expected = cut(lengths, parts, most_rows);
      for (const size_t together : {1, 7, 100}) {
        const std::vector<TileRows> tiles = cut(lengths, parts, most_rows, together);
        ASSERT_EQ(tiles.size(), expected.size());
        for (size_t i = 0; i < tiles.size(); ++i) {
          EXPECT_EQ(tiles[i].begin, expected[i].begin);
          EXPECT_EQ(tiles[i].end, expected[i].end);
          EXPECT_EQ(tiles[i].weight, expected[i].weight);
        }
      }
    }
  }
}

TEST(TilePairs, EveryPairOfRowsBelongsToOnePairOfTiles) {
  const std::vector<uint32_t> lengths = lengths_of(60), others = lengths_of(37);
  for (const uint64_t parts : {1, 2, 5}) {
    const std::vector<TileRows> left = cut(lengths, parts, UINT64_MAX), right = cut(others, 3, UINT64_MAX);
    expect_all_pairs(pair_tiles(left, nullptr), 60, 60, true);
    expect_all_pairs(pair_tiles(left, &right), 60, 37, false);
  }
}

TEST(TilePairs, TilesThatDidNotFitAreCutDownToSingleRows) {
  const std::vector<uint32_t> lengths = lengths_of(20), others = lengths_of(11);
  for (const bool self_join : {true, false}) {
    const std::vector<TileRows> left = cut(lengths, 2, UINT64_MAX), right = cut(others, 2, UINT64_MAX);
    std::vector<TilePair> pending = pair_tiles(left, self_join ? nullptr : &right), whole;
    while (!pending.empty()) {
      const TilePair pair = pending.back();
      pending.pop_back();
      if (!cut_again(pair, pending)) whole.push_back(pair);
    }
    for (const TilePair &pair : whole) {
      EXPECT_EQ(pair.left.count(), 1u);
      EXPECT_EQ(pair.right.count(), pair.same ? 0u : 1u);
    }
    expect_all_pairs(whole, 20, self_join ? 20 : 11, self_join);
  }
}

}  // namespace
}  // namespace simjoin::gpu
