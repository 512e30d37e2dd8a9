// The hashes of a band with their rows, as many at a time as can be sorted in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/lsh/lsh_device.hpp"
#include "core/lsh/lsh_rows.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

class LshKeys {
 public:
  // The hashes from `first` to `last`, and the number of rows that have them.
  struct Range {
    uint64_t first;
    uint64_t last;
    uint64_t rows;
  };

  // For at most `most` rows at a time, which `device` sorts.
  LshKeys(const LshRows &rows, size_t most, LshDevice &device, MemoryCounter &memory)
      : rows_(rows), most_(most), device_(device), memory_(memory), keys_(memory), scratch_(memory) {}

  // Returns ranges that cover all hashes of a band, ascending. A range with more rows than fit at a time is a
  // single hash.
  std::vector<Range> ranges(uint32_t band, WorkerPool &pool) const;
  bool is_too_large(const Range &range) const { return range.rows > most_; }

  // Returns the hashes in a range, each with its row in the low half, ascending. They stay until the next
  // call.
  std::span<const SortKey> sorted(uint32_t band, const Range &range, WorkerPool &pool);
  // Returns the keys of one piece of the rows.
  Buffer<SortKey> keys_of_piece(uint32_t band, const Range &range, size_t piece) const;

 private:
  // The hashes that have the highest bits in common, all but `bits`.
  struct Prefix {
    uint64_t first;
    int bits;
  };

  void cut(uint32_t band, Prefix prefix, std::vector<Range> &ranges, WorkerPool &pool) const;
  std::vector<uint64_t> count(uint32_t band, Prefix prefix, int cell_bits, WorkerPool &pool) const;
  void take(uint32_t band, const Range &range, WorkerPool &pool);

  const LshRows &rows_;
  const size_t most_;
  LshDevice &device_;
  MemoryCounter &memory_;
  Buffer<SortKey> keys_;     // of one range
  Buffer<SortKey> scratch_;  // for sorting them
};

}  // namespace simjoin
