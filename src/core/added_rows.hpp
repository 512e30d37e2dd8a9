// The rows that an engine has been given so far, and what it refuses of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/join.hpp"

namespace simjoin {

class AddedRows {
 public:
  explicit AddedRows(bool self_join) : self_join_(self_join) {}

  uint64_t operator[](size_t side) const { return rows_[side]; }
  uint64_t all() const { return rows_[0] + rows_[1]; }

  // Counts the next rows of a side. Throws Error: internal where they come after the engine's first step or
  // on the right side of a self-join, limit_exceeded where there are too many or one has too many tokens.
  void add(Side side, const SetSlice &rows, bool stepped) {
    if (stepped) throw Error(ErrorKind::internal, "a set was added after the first step of a join");
    if (self_join_ && side == Side::right)
      throw Error(ErrorKind::internal, "a set was added to the right side of a self-join");
    uint64_t &count = rows_[static_cast<size_t>(side)];
    const auto too_long = [](uint32_t length) { return length == UINT32_MAX; };
    if (rows.rows > most - count ||
        (rows.token_count >= UINT32_MAX && std::any_of(rows.lengths, rows.lengths + rows.rows, too_long)))
      throw Error(ErrorKind::limit_exceeded, "one side of a join cannot have more than 4294967294 sets");
    count += rows.rows;
  }

 private:
  static constexpr uint64_t most = UINT32_MAX - 1;

  const bool self_join_;
  uint64_t rows_[2] = {0, 0};
};

}  // namespace simjoin
