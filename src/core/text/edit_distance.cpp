#include "core/text/edit_distance.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/base/mix.hpp"
#include "core/text/common_ends.hpp"

namespace simjoin {
namespace {

constexpr size_t block_rows = 64;

// Where each character stands among up to 64: bit i of its mask is that of the i-th one.
template <typename Character>
class Places;

template <>
class Places<uint8_t> {
 public:
  void set(std::span<const uint8_t> block) {
    for (const uint8_t character : block_) masks_[character] = 0;
    for (size_t i = 0; i < block.size(); ++i) masks_[block[i]] |= uint64_t{1} << i;
    block_ = block;
  }
  uint64_t of(uint8_t character) const { return masks_[character]; }

 private:
  std::span<const uint8_t> block_;
  uint64_t masks_[256] = {};
};

template <>
class Places<uint32_t> {
 public:
  void set(std::span<const uint32_t> block) {
    std::fill(std::begin(masks_), std::end(masks_), 0);
    for (size_t i = 0; i < block.size(); ++i) {
      const size_t slot = slot_of(block[i]);
      characters_[slot] = block[i];
      masks_[slot] |= uint64_t{1} << i;
    }
  }
  uint64_t of(uint32_t character) const { return masks_[slot_of(character)]; }

 private:
  static constexpr size_t slots = 2 * block_rows;

  // Returns the slot of the character, or the free one where it would go.
  size_t slot_of(uint32_t character) const {
    size_t slot = (character * golden_gamma) >> 57;
    while (masks_[slot] != 0 && characters_[slot] != character) slot = (slot + 1) % slots;
    return slot;
  }

  uint32_t characters_[slots] = {};
  uint64_t masks_[slots] = {};
};

// The vertical differences of a column of a block of the table of distances, one a bit (Myers: A fast
// bit-vector algorithm for approximate string matching, 1999; Hyyro's form for blocks).
struct Column {
  uint64_t more = ~uint64_t{0};
  uint64_t less = 0;

  // Goes to the next column. `above` is the difference between the two in the row above the block. Returns
  // that in row `last` of the block.
  int next(uint64_t equal, int above, size_t last) {
    const auto above_less = static_cast<uint64_t>(above < 0), above_more = static_cast<uint64_t>(above > 0);
    const uint64_t vertical = equal | less;
    equal |= above_less;
    const uint64_t horizontal = (((equal & more) + more) ^ more) | equal;
    uint64_t row_more = less | ~(horizontal | more);
    uint64_t row_less = more & horizontal;
    const int below = static_cast<int>(row_more >> last & 1) - static_cast<int>(row_less >> last & 1);
    row_more = row_more << 1 | above_more;
    row_less = row_less << 1 | above_less;
    more = row_less | ~(vertical | row_more);
    less = row_more & vertical;
    return below;
  }
};

// The part of the table of distances that is no further than `most` from its diagonal. Cells outside of it
// are above `most`, and count as any number that is not too small.
template <typename Character>
class Table {
 public:
  // `rows` is the shorter text, and has characters. `columns` is longer by no more than `most`.
  Table(std::span<const Character> rows, std::span<const Character> columns, int64_t most)
      : rows_(rows), columns_(columns), most_(static_cast<size_t>(most)) {
    if (rows.size() > block_rows) differences_.assign(columns.size(), 1);
  }

  // Returns the distance, or a greater number than `most` if it is above that.
  int64_t distance() {
    for (size_t row = 0; row < rows_.size(); row += block_rows)
      if (pass_block(rows_.subspan(row, std::min(block_rows, rows_.size() - row)), row) > most()) break;
    return last_;
  }

 private:
  int64_t most() const { return static_cast<int64_t>(most_); }
  size_t first_column(size_t row) const { return row > most_ ? row - most_ : 0; }

  // Passes the rows of a block. Returns the least distance in the last of them.
  int64_t pass_block(std::span<const Character> block, size_t row) {
    const size_t end_row = row + block.size(), last = block.size() - 1, next = first_column(end_row);
    const size_t end = std::min(columns_.size(), end_row + std::min(most_, columns_.size()));
    places_.set(block);
    Column column;
    int64_t distance = first_ + static_cast<int64_t>(block.size()), least = distance;
    first_ = distance;
    for (size_t j = first_column(row); j < end; ++j) {
      check_interruption_at(steps_++);
      if (differences_.empty()) {
        distance += column.next(places_.of(columns_[j]), 1, last);
      } else {
        differences_[j] = static_cast<int8_t>(column.next(places_.of(columns_[j]), differences_[j], last));
        distance += differences_[j];
      }
      if (j + 1 == next) first_ = distance;
      least = std::min(least, distance);
    }
    last_ = least > most() ? least : distance;
    return least;
  }

  std::span<const Character> rows_;
  std::span<const Character> columns_;
  size_t most_;
  Places<Character> places_;
  std::vector<int8_t> differences_;  // between the columns in the last row passed, if there are more blocks
  int64_t first_ = 0;                // the distance in that row, in the first column of the next block
  int64_t last_ = 0;                 // in its last column
  size_t steps_ = 0;
};

// Returns the distance of two texts that are trimmed, the shorter one first.
template <typename Character>
int64_t distance_of_trimmed(std::span<const Character> a, std::span<const Character> b, int64_t most) {
  if (static_cast<int64_t>(b.size() - a.size()) > most) return most + 1;
  if (a.empty()) return static_cast<int64_t>(b.size());
  return std::min(Table<Character>(a, b, most).distance(), most + 1);
}

}  // namespace

template <typename Character>
int64_t edit_distance_up_to(std::span<const Character> a, std::span<const Character> b, int64_t most) {
  if (a.size() > b.size()) std::swap(a, b);
  if (static_cast<int64_t>(b.size() - a.size()) > most) return most + 1;
  trim_common(&a, &b);
  return distance_of_trimmed(a, b, std::min(most, static_cast<int64_t>(b.size())));
}

template <typename Character>
int64_t edit_distance(std::span<const Character> a, std::span<const Character> b) {
  if (a.size() > b.size()) std::swap(a, b);
  trim_common(&a, &b);
  // The part of the table that is looked at becomes four times as wide until the distance is in it.
  const auto longest = static_cast<int64_t>(b.size());
  for (int64_t most = block_rows;; most *= 4) {
    const int64_t distance = distance_of_trimmed(a, b, std::min(most, longest));
    if (distance <= most || most >= longest) return distance;
  }
}

template int64_t edit_distance_up_to(std::span<const uint8_t>, std::span<const uint8_t>, int64_t);
template int64_t edit_distance_up_to(std::span<const uint32_t>, std::span<const uint32_t>, int64_t);
template int64_t edit_distance(std::span<const uint8_t>, std::span<const uint8_t>);
template int64_t edit_distance(std::span<const uint32_t>, std::span<const uint32_t>);

}  // namespace simjoin
