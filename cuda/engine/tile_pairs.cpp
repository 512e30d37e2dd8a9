#include "cuda/engine/tile_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace simjoin::gpu {
namespace {

// Parts into which a tile that did not fit is cut.
constexpr uint32_t cut_parts = 4;
// A fraction of the tokens and rows of a pair of tiles that did not fit. Pairs with at least as many do not
// fit either.
constexpr double as_large = 0.9;
// The most pairs after one round of cuts. If memory is too short for tiles of any size, cuts would otherwise
// go down to single rows.
constexpr size_t most_cut = 1 << 14;

// What two tiles fill of the most sets and tokens of a join, since tiles differ by a row.
constexpr double most_of_items = 0.99;

// Cuts rows into `parts` parts of equally many rows, or into fewer if there are fewer rows.
std::vector<TileRows> split(TileRows rows, uint32_t parts) {
  std::vector<TileRows> cut;
  for (uint32_t i = 0; i < parts; ++i) {
    const auto at = [&](uint32_t k) {
      return rows.begin + static_cast<uint32_t>(uint64_t{rows.count()} * k / parts);
    };
    const uint32_t begin = at(i), end = at(i + 1);
    if (begin < end) cut.push_back({begin, end, rows.weight * (end - begin) / rows.count()});
  }
  return cut;
}

// Appends the pairs of smaller tiles that replace a pair. Returns false if it cannot be cut.
bool cut_pair(const TilePair &pair, std::vector<TilePair> &smaller) {
  if (pair.same) {
    if (pair.left.count() < 2) return false;
    const std::vector<TileRows> tiles = split(pair.left, cut_parts);
    for (size_t i = 0; i < tiles.size(); ++i) {
      smaller.push_back({tiles[i], {}, true});
      for (size_t j = i + 1; j < tiles.size(); ++j) smaller.push_back({tiles[i], tiles[j], false});
    }
    return true;
  }
  if (pair.left.count() < 2 && pair.right.count() < 2) return false;
  const std::vector<TileRows> right = split(pair.right, 2);
  for (const TileRows &l : split(pair.left, 2)) {
    for (const TileRows &r : right) smaller.push_back({l, r, false});
  }
  return true;
}

}  // namespace

double JoinSize::tiles(double device_limit) const {
  const double by_memory = bytes / (most_of_memory * std::max(device_limit, 1.0));
  const double items = static_cast<double>(std::max(rows, tokens));
  return std::ceil(
      2 * std::max(by_memory, items / (most_of_items * static_cast<double>(tuning::most_join_items))));
}

// Rows that end no tile are passed over together.
std::vector<TileRows> cut_rows(std::span<const RowLengths> rows, uint64_t parts, uint64_t most_rows) {
  const auto weight_of = [](const RowLengths &some) {
    return static_cast<double>(some.tokens) + static_cast<double>(some.lengths.size());
  };
  double weight = 0, filled = 0;
  for (const RowLengths &some : rows) weight += weight_of(some);
  const double share = weight / static_cast<double>(std::max<uint64_t>(parts, 1));
  std::vector<TileRows> tiles;
  uint32_t row = 0, begin = 0;
  const auto close = [&] {
    if (begin < row) tiles.push_back({begin, row, filled});
    begin = row;
    filled = 0;
  };
  for (const RowLengths &some : rows) {
    const bool ends_none = filled + weight_of(some) < share || tiles.size() + 1 >= parts;
    if (ends_none && row - begin + some.lengths.size() < most_rows) {
      filled += weight_of(some);
      row += static_cast<uint32_t>(some.lengths.size());
      continue;
    }
    for (const uint32_t length : some.lengths) {
      filled += length + 1.0;
      ++row;
      if ((filled >= share && tiles.size() + 1 < parts) || row - begin >= most_rows) close();
    }
  }
  close();
  return tiles;
}

std::vector<TilePair> pair_tiles(const std::vector<TileRows> &left, const std::vector<TileRows> *right) {
  std::vector<TilePair> pairs;
  if (right != nullptr) {
    for (const TileRows &l : left)
      for (const TileRows &r : *right) pairs.push_back({l, r, false});
    return pairs;
  }
  for (const TileRows &rows : left) pairs.push_back({rows, {}, true});
  for (size_t i = 0; i < left.size(); ++i)
    for (size_t j = i + 1; j < left.size(); ++j) pairs.push_back({left[i], left[j], false});
  return pairs;
}

bool cut_again(const TilePair &pair, std::vector<TilePair> &pending) {
  std::vector<TilePair> smaller;
  if (!cut_pair(pair, smaller)) return false;
  const double too_large = as_large * pair.weight();
  std::vector<TilePair> kept;
  for (const TilePair &other : pending) {
    const bool keep = other.weight() < too_large || smaller.size() >= most_cut;
    if (keep || !cut_pair(other, smaller)) kept.push_back(other);
  }
  pending = std::move(kept);
  pending.insert(pending.end(), smaller.begin(), smaller.end());
  return true;
}

}  // namespace simjoin::gpu
