// Runs of rows, and their pairs, of a join that is cut into tiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/base/tuning.hpp"

namespace simjoin::gpu {

struct TileRows {
  uint32_t begin = 0, end = 0;
  double weight = 0;  // approximate number of tokens and rows
  uint32_t count() const { return end - begin; }
};

struct TilePair {
  TileRows left, right;
  bool same;  // a tile with itself; otherwise, in a self-join, the right tile follows the left one
  double weight() const { return left.weight + right.weight; }
};

// The part of the device memory that a plan uses, since it knows what a join needs by an estimate.
inline constexpr double most_of_memory = 0.9;

// The sets of a join, and the device memory that it needs at once.
struct JoinSize {
  double bytes;
  uint64_t rows, tokens;

  bool fits(double device_limit) const {
    return bytes < device_limit && rows < tuning::most_join_items && tokens < tuning::most_join_items;
  }
  // Returns into how many tiles of about equal size the sets are cut, so that a join of two fits.
  double tiles(double device_limit) const;
};

// Some of the rows that are cut: how many tokens each has, and all of them together.
struct RowLengths {
  std::span<const uint32_t> lengths;
  uint64_t tokens;
};

// Cuts rows into about `parts` tiles with about equally many tokens. A tile has at most `most_rows` rows.
std::vector<TileRows> cut_rows(std::span<const RowLengths> rows, uint64_t parts, uint64_t most_rows);

// Returns pairs of tiles. Each pair of rows belongs to one of them. `right` is null in a self-join.
std::vector<TilePair> pair_tiles(const std::vector<TileRows> &left, const std::vector<TileRows> *right);

// Appends to `pending` the pairs of smaller tiles that replace a pair which did not fit. Pending pairs that
// are about as large are cut, too, because they would be uploaded only to fail. Returns false if the pair
// cannot be cut.
bool cut_again(const TilePair &pair, std::vector<TilePair> &pending);

}  // namespace simjoin::gpu
