// FlyHash on the CPU: a table of projected positions, and the winners of a block of vectors at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/flyhash/flyhash_family.hpp"
#include "core/flyhash/flyhash_kernels.hpp"

namespace simjoin {

// Returns the number of rows to draw or add up between two looks for interrupts, which take a few
// milliseconds.
inline uint32_t fly_rows_at_once(const FlyShape &shape) {
  return std::max(1u, (uint32_t{1} << 20) / shape.projection);
}

// The positions that each row of a shape's projection adds up, in ascending order. Different threads may draw
// different ranges of rows, each row once.
class FlyProjection {
 public:
  explicit FlyProjection(const FlyShape &shape);

  void draw(uint32_t begin, uint32_t end);

  const FlyShape &shape() const { return shape_; }
  const uint16_t *positions() const { return positions_.get(); }

 private:
  const FlyShape shape_;
  std::unique_ptr<uint16_t[]> positions_;
};

// Hashes some vectors together: start, step until done, read the winners. The projection must be drawn first
// and outlive the block, which can be started again and again.
class FlyBlock {
 public:
  explicit FlyBlock(const FlyProjection &projection);

  // Returns the number of vectors that can be hashed together: fly_block_vectors, or fewer if the candidates
  // of all winners would take too much memory.
  size_t most_vectors() const { return most_vectors_; }
  // `levels` has the levels of at most most_vectors() vectors, one after the other.
  void start(const uint16_t *levels, size_t vectors);
  // Works on at most `rows` more rows. Returns whether the winners are known.
  bool step(uint32_t rows);
  // Writes the winners of a vector, shape.winners positions in ascending order.
  void write(size_t vector, uint32_t *winners);

 private:
  // A gap between lists, since lists at distances of powers of two would share sets of the caches.
  static constexpr size_t list_gap = 24;

  struct alignas(64) Line {
    uint16_t levels[fly_block_vectors];
  };
  struct alignas(64) Above {
    int32_t values[2][fly_block_vectors / 2];
  };

  FlyCandidate *list(size_t vector) const { return lists_.get() + vector * (capacity_ + list_gap); }
  std::span<FlyCandidate> candidates(size_t vector) const { return {list(vector), next_[vector]}; }
  void begin_rows(bool guess);
  int32_t &above(size_t vector) { return above_.values[vector % 2][vector / 2]; }
  void raise_bound(size_t vector);
  void keep_best(size_t vector);
  // Calls take(candidate, wins) for a vector's candidates in the order of the rows. Returns the least
  // activation of the winners.
  template <class Take>
  uint32_t take_best(size_t vector, Take &&take);
  // Returns the activation of this rank among the candidates; the largest has the first rank. Sets `larger`
  // to the number of larger ones.
  uint32_t ranked(std::span<const FlyCandidate> candidates, size_t rank, size_t &larger);

  const FlyProjection &projection_;
  const FlyShape &shape_;
  const size_t capacity_;  // of a list
  const size_t most_vectors_;
  const size_t guess_row_;  // the rows that show which activations may win; 0 = no guess
  std::vector<Line> block_;
  std::unique_ptr<FlyCandidate[]> lists_;
  FlyCandidate *next_[fly_block_vectors];  // behind the last entry of each list
  FlyCandidate *ends_[fly_block_vectors];
  Above above_;
  size_t vectors_ = 0;
  uint32_t row_ = 0;
  bool guessing_ = false;
  std::vector<uint32_t> class_;  // of `ranked`
};

}  // namespace simjoin
