// Sets of integers as they came, in blocks that several readers share without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/host_pieces.hpp"
#include "core/base/memory.hpp"
#include "core/join.hpp"
#include "core/set_slices.hpp"

namespace simjoin {

// A run of rows of one side, immutable once it is handed on. Its memory goes back to the process's pieces.
class SetBlock {
 public:
  // Has room for at least one set of `count` tokens. `row_bytes` is the expected size of a row. The bytes
  // used are counted from close() on. A large block has a piece of `ahead`, which is null for others.
  SetBlock(MemoryCounter &memory, Side side, uint32_t first_row, bool wide, uint32_t count, double row_bytes,
           PiecesAhead *ahead = nullptr);
  // The rows of a piece that is complete: their lengths at its beginning, their tokens from `tokens_at` on.
  SetBlock(MemoryCounter &memory, Side side, uint32_t first_row, bool wide, HostPiece piece, uint32_t rows,
           size_t tokens_at, uint64_t token_count);
  ~SetBlock();
  SetBlock(const SetBlock &) = delete;
  SetBlock &operator=(const SetBlock &) = delete;

  // Appends the first of the rows, as many as there is room for. Returns how many.
  uint32_t append(const SetSlice &rows);
  void close();

  Side side() const { return side_; }
  uint32_t first_row() const { return first_row_; }
  uint32_t rows() const { return rows_; }
  uint64_t token_count() const { return token_bytes_ / width_; }
  uint32_t longest() const { return longest_; }
  bool wide() const { return width_ == sizeof(int64_t); }
  size_t bytes_used() const { return token_bytes_ + rows_ * sizeof(uint32_t); }
  uint32_t length(uint32_t row) const {
    SIMJOIN_CHECK(row >= first_row_ && row - first_row_ < rows_);
    return lengths_[row - first_row_];
  }
  // Returns the rows [first_row, first_row + rows), all of this block. Passes over the rows before them in
  // linear time.
  SetSlice slice(uint32_t first_row, uint32_t rows) const;
  SetSlice all() const {
    return {wide() ? TokenType::int8 : TokenType::int4, tokens_, lengths_, rows_, token_count()};
  }

  // Returns the memory that holds the tokens and lengths, and where in it the tokens begin.
  HostPiece &piece() const { return piece_; }
  size_t tokens_at() const { return static_cast<size_t>(tokens_ - piece_.data); }

 private:
  MemoryCounter &memory_;
  const Side side_;
  const uint32_t first_row_;
  const size_t width_;
  mutable HostPiece piece_;
  uint32_t *lengths_;  // at the beginning of the piece
  char *tokens_;       // after the room for lengths
  uint32_t most_rows_;
  size_t most_token_bytes_;
  uint32_t rows_ = 0;
  size_t token_bytes_ = 0;
  uint32_t longest_ = 0;
  size_t counted_ = 0;
};

using SharedBlock = std::shared_ptr<const SetBlock>;

// Makes blocks of sets, in the order in which they come.
class BlockWriter {
 public:
  explicit BlockWriter(MemoryCounter &memory) : memory_(memory) {}

  // Appends the first of the rows, sets of integers, and takes them off the slice. If the block before had no
  // room for the first one, returns that block, which is complete then.
  SharedBlock append(Side side, SetSlice &rows);
  // Returns the side's last block, or null if there is none. No others come soon.
  SharedBlock take_last(Side side);
  // Returns the bytes in blocks that are not complete.
  size_t open_bytes() const;

 private:
  SharedBlock close(Side side);

  MemoryCounter &memory_;
  PiecesAhead ahead_;
  std::shared_ptr<SetBlock> open_[2];
  uint32_t rows_[2] = {0, 0};
};

}  // namespace simjoin
