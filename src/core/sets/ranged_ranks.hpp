// Ranks of integers with little memory: values are counted, and then ranked, range by range.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

// The numbers in the blocks of one or two sides, all in [first, first + span). Blocks may be in the file.
struct RangedNumbers {
  std::vector<RawSets *> sides;
  uint32_t first;
  uint64_t span;
};

class RangedRanks {
 public:
  // Returns whether rank() can take `numbers`: numbers and ranks together must fit into 32 bits.
  static bool takes(const RangedNumbers &numbers) { return 2 * numbers.span < UINT32_MAX; }

  // Uses about `bytes`. Very large ranges of values take a quarter of a byte for each value.
  RangedRanks(const RangedNumbers &numbers, SpillFile &file, size_t bytes, WorkerPool &pool,
              MemoryCounter &memory);

  // Returns the ranks in a table if it takes at most `table_bytes`. Otherwise replaces the numbers in the
  // blocks by what Ranking::rank_in() takes without a table.
  Ranking rank(size_t table_bytes);

 private:
  // What is known of a value before it has a rank: its frequency, or one of these codes.
  using Code = uint16_t;
  static constexpr Code frequent = 1u << 13;  // or more: such values are few, so they are sorted
  static constexpr Code unshared = UINT16_MAX;
  struct Frequent {
    uint32_t frequency;
    uint32_t number;
    uint32_t rank;
  };
  // How often the values of a range occur in a side's sets: `low` has the lowest byte of each count, `wraps`
  // the value's number once for each overflow of that byte.
  struct Counts {
    explicit Counts(MemoryCounter &memory) : low(memory), wraps(memory) {}
    Buffer<uint8_t> low;
    Buffer<uint32_t> wraps;
  };

  void count();
  void count_range(uint32_t first, uint32_t width);
  void count_side(RawSets &raw, uint32_t first, Counts &counts) const;
  void write_codes(uint32_t first, const std::vector<Counts> &counts);
  uint32_t place_frequencies();
  void fill(uint32_t first, uint32_t width, uint32_t *codes_of_ranks, uint32_t none, uint32_t offset);
  void replace(uint32_t first, uint32_t width, const Buffer<uint32_t> &table);

  const RangedNumbers numbers_;
  SpillFile &file_;
  const size_t bytes_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  const uint64_t codes_place_;  // the place of the values' codes in the file
  std::mutex mutex_;            // guards all members below while ranges are counted
  Buffer<uint32_t> next_;  // by frequency: the number of values that have it, then the rank of the next one
  std::vector<Frequent> frequent_;
  uint32_t distinct_ = 0;
};

}  // namespace simjoin
