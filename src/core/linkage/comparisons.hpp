// Pairs of records as comparison vectors: a level of agreement for each column, and how many pairs have each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/probe_table.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

inline constexpr size_t most_compared_columns = 32;
inline constexpr uint8_t most_levels = 15;  // of a column, from 0 on; a higher one means more agreement
inline constexpr uint8_t null_level = 15;   // a value is missing

// The levels of a pair, and the number of pairs with these levels.
struct ComparisonVector {
  uint64_t levels[2] = {0, 0};  // four bits a column
  uint64_t pairs = 0;

  uint8_t level(size_t column) const { return levels[column / 16] >> column % 16 * 4 & 15; }
  void set_level(size_t column, uint8_t level) {
    levels[column / 16] |= static_cast<uint64_t>(level) << column % 16 * 4;
  }

  bool free() const { return pairs == 0; }
  uint64_t hash() const;
};

// Counts pairs by their comparison vectors.
class ComparisonCounts {
 public:
  explicit ComparisonCounts(MemoryCounter &memory) : memory_(memory), vectors_(memory, {}) {}

  // Counts a pair; `vector` has no count.
  void add(const ComparisonVector &vector);
  // Returns the vectors in an order that depends on them alone. Uses up the counts.
  Buffer<ComparisonVector> sorted(const StopFlag &stop);

 private:
  MemoryCounter &memory_;
  ProbeTable<ComparisonVector> vectors_;
};

}  // namespace simjoin
