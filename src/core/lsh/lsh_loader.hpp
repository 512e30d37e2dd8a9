// Rows of a join by bands that one worker has in memory.
#pragma once

#include <mutex>
#include <span>

#include "core/base/memory.hpp"
#include "core/lsh/lsh_rows.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

// Returns the row of a key.
inline uint32_t row_of(const SortKey &key) {
  return static_cast<uint32_t>(key.lo);
}

class LshLoader {
 public:
  // Takes `bytes`, and more only for a larger row.
  LshLoader(const LshRows &rows, size_t bytes, MemoryCounter &memory)
      : all_(rows), bytes_(bytes), rows_(memory), words_(memory) {}

  // Brings the rows of the first keys into memory, as many as there is room for and at least one. Returns
  // their number.
  size_t load(std::span<const SortKey> keys);
  // Returns the rows that were loaded last.
  std::span<const LshRow> rows() const { return {rows_.data(), rows_.size()}; }
  // Returns whether the row of a key is larger than the room.
  bool any_large(std::span<const SortKey> keys) const;
  // Gives back the memory of a large row.
  void forget_large();

 private:
  void read(std::span<const SortKey> keys);

  const LshRows &all_;
  const size_t bytes_;
  Buffer<LshRow> rows_;
  Buffer<uint64_t> words_;  // of the rows, where these are in the file
  bool large_ = false;      // whether these have become more than there is room for
};

// Held by the one worker that loads large rows, once for each time that it claims them. If many workers had
// large rows of their own, memory would not suffice.
using LargeRows = std::recursive_mutex;

}  // namespace simjoin
