// Integers of 32 bits, which wait for the end of the input as they are: then all threads count them.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/short_sort.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/sets/distinct_sample.hpp"
#include "core/sets/ranged_ranks.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

// The sets of a join before their values are known: what is stored of a value is a number in the order of the
// values, not yet an id.
class PlainValues {
 public:
  PlainValues(bool self_join, MemoryCounter &memory)
      : self_join_(self_join), memory_(memory), sample_(memory) {}

  // Of numbers that are in blocks already, and below `numbers`.
  PlainValues(bool self_join, uint32_t numbers, MemoryCounter &memory)
      : self_join_(self_join), memory_(memory), sample_(memory), smallest_(0), largest_(numbers - 1) {}

  // Writes a set's distinct values to `numbers` (room for tokens.size()), ascending, and returns how many.
  uint32_t take(std::span<const int32_t> tokens, uint32_t *numbers);
  // Returns how many distinct values there are, about.
  uint64_t distinct_values() const { return sample_.estimate(); }
  // Returns the bytes that rank() takes at least, about, for sets of so many tokens.
  size_t ranking_bytes(uint64_t tokens) const;

  // Returns the ranks of all values, by what apply_ranks() finds in the blocks of the sides then: the numbers
  // that are there, or in their place ids. Blocks may be in the file (not null then). Uses about
  // `extra_bytes` where more than the least would help.
  Ranking rank(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes, WorkerPool &pool) const;

 private:
  uint64_t span() const { return smallest_ <= largest_ ? uint64_t{largest_} - smallest_ + 1 : 0; }
  bool dense(uint64_t tokens) const;
  Buffer<uint32_t> count_parts(RawSets &raw, SpillFile *file, uint32_t parts, WorkerPool &pool) const;
  Buffer<uint32_t> count_copies(RawSets &raw, SpillFile *file, uint32_t copies, WorkerPool &pool) const;
  Ranking rank_dense(const std::vector<RawSets *> &sides, SpillFile *file, uint32_t parts, bool copies,
                     WorkerPool &pool) const;
  Ranking rank_ranges(const RangedNumbers &numbers, SpillFile &file, size_t extra_bytes,
                      WorkerPool &pool) const;

  const bool self_join_;
  MemoryCounter &memory_;
  ShortSort sort_;
  DistinctSample sample_;
  uint32_t smallest_ = UINT32_MAX;  // number
  uint32_t largest_ = 0;
};

}  // namespace simjoin
