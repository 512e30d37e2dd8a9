#include "core/text/damerau_distance.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/interruption.hpp"
#include "core/text/common_ends.hpp"

namespace simjoin {
namespace {

// The part of the table of distances that is no further than `most` from its diagonal, as three of its rows.
template <typename Character>
class AlignmentTable {
 public:
  // `b` is longer than `a` by no more than `most`.
  AlignmentTable(std::span<const Character> a, std::span<const Character> b, size_t most)
      : a_(a), b_(b), most_(most) {
    for (Row *row : {&before_, &last_, &row_}) *row = std::make_unique_for_overwrite<int32_t[]>(2 * most + 3);
  }

  // Returns the distance, or a greater number than `most` if it is above that.
  int64_t distance() {
    for (size_t row = 0; row <= a_.size(); ++row) {
      // The next row has none below this, with an exchange neither: it is 1 above a distance from which one
      // replacement leads here.
      const int32_t least = fill_row(row);
      if (static_cast<size_t>(least) > most_) return least;
      std::swap(before_, last_);
      std::swap(last_, row_);
    }
    return last_[place_of(b_.size(), a_.size())];
  }

 private:
  // To fill it at once would take long where `most` is large.
  using Row = std::unique_ptr<int32_t[]>;

  static constexpr int32_t far = std::numeric_limits<int32_t>::max() / 2;

  // Returns where the row has a column. The place before is that of the column to its left, and a diagonal
  // has one place in all rows.
  size_t place_of(size_t column, size_t row) const { return column + most_ + 1 - row; }

  // Fills a row from the two before it. Returns the least distance in it.
  int32_t fill_row(size_t row) {
    const size_t first = row > most_ ? row - most_ : 0, end = std::min(b_.size(), row + most_) + 1;
    int32_t least = far;
    // The cells beside the part that its cells are computed from.
    if (first > 0) row_[place_of(first, row) - 1] = far;
    if (row > 0 && end > last_end_) last_[place_of(end, row)] = far;
    last_end_ = end;
    for (size_t column = first; column < end; ++column) {
      check_interruption_at(steps_++);
      const size_t place = place_of(column, row);
      row_[place] = cell(row, column, place);
      least = std::min(least, row_[place]);
    }
    return least;
  }

  int32_t cell(size_t row, size_t column, size_t place) const {
    if (row == 0) return static_cast<int32_t>(column);
    if (column == 0) return static_cast<int32_t>(row);
    const Character above = a_[row - 1], left = b_[column - 1];
    int32_t distance =
        std::min({last_[place] + (above == left ? 0 : 1), last_[place + 1] + 1, row_[place - 1] + 1});
    if (row > 1 && column > 1 && above == b_[column - 2] && left == a_[row - 2])
      distance = std::min(distance, before_[place] + 1);
    return distance;
  }

  std::span<const Character> a_;
  std::span<const Character> b_;
  size_t most_;
  Row before_, last_, row_;
  size_t last_end_ = 0;  // of the columns of the last row
  size_t steps_ = 0;
};

// Returns the distance of two texts that are trimmed, the shorter one first.
template <typename Character>
int64_t damerau_of_trimmed(std::span<const Character> a, std::span<const Character> b, int64_t most) {
  if (static_cast<int64_t>(b.size() - a.size()) > most) return most + 1;
  if (a.empty()) return static_cast<int64_t>(b.size());
  return std::min(AlignmentTable<Character>(a, b, static_cast<size_t>(most)).distance(), most + 1);
}

}  // namespace

template <typename Character>
int64_t damerau_distance_up_to(std::span<const Character> a, std::span<const Character> b, int64_t most) {
  if (a.size() > b.size()) std::swap(a, b);
  if (static_cast<int64_t>(b.size() - a.size()) > most) return most + 1;
  trim_common(&a, &b);
  const auto longest = static_cast<int64_t>(b.size());
  return std::min(damerau_of_trimmed(a, b, std::min(most, longest)), most + 1);
}

template <typename Character>
int64_t damerau_distance(std::span<const Character> a, std::span<const Character> b) {
  constexpr int64_t first_most = 4;
  if (a.size() > b.size()) std::swap(a, b);
  trim_common(&a, &b);
  // The part of the table that is looked at becomes four times as wide until the distance is in it.
  const auto longest = static_cast<int64_t>(b.size());
  for (int64_t most = first_most;; most *= 4) {
    const int64_t distance = damerau_of_trimmed(a, b, std::min(most, longest));
    if (distance <= most || most >= longest) return distance;
  }
}

template int64_t damerau_distance_up_to(std::span<const uint8_t>, std::span<const uint8_t>, int64_t);
template int64_t damerau_distance_up_to(std::span<const uint32_t>, std::span<const uint32_t>, int64_t);
template int64_t damerau_distance(std::span<const uint8_t>, std::span<const uint8_t>);
template int64_t damerau_distance(std::span<const uint32_t>, std::span<const uint32_t>);

}  // namespace simjoin
