// Which rows have equal sets, by a hash of each set. Unlike SetCopies this needs few bytes a row, and keeps
// no set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// Takes the set of each row, and then gives the rows in the order of their sets. Sets of the same tokens, in
// any order and however often repeated, are equal. Two others are taken for equal with a probability of
// 2^-64.
class EqualRows {
 public:
  // Keeps up to `memory_limit` bytes. With more rows nothing is known of any.
  EqualRows(size_t memory_limit, MemoryCounter &memory)
      : most_rows_(memory_limit / sizeof(Row)), rows_(memory) {}

  // Adds the set of the next row.
  template <typename Token>
  void add(std::span<const Token> tokens);
  // Ends the adding: brings equal sets side by side.
  void finish(const StopFlag &stop);

  bool known() const { return known_; }
  size_t most_rows() const { return most_rows_; }
  // Returns the number of rows.
  size_t size() const { return rows_.size(); }
  // Returns the i-th row in the order of sets.
  uint32_t row(size_t i) const { return rows_[i].row; }
  // Returns the end of the rows whose sets are equal to that of the i-th row, the first of them.
  size_t end_of_equal(size_t i) const;

 private:
  // The hash in halves, so that a row takes 12 bytes.
  struct Row {
    uint32_t upper, lower;
    uint32_t row;

    uint64_t hash() const { return uint64_t{upper} << 32 | lower; }
  };

  const size_t most_rows_;
  bool known_ = true;
  Buffer<Row> rows_;
};

}  // namespace simjoin
