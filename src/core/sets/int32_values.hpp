// Integers of 32 bits wait for the end of the input as they are. Then all threads count them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/sets/distinct_sample.hpp"
#include "core/sets/ranged_ranks.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {

// The sets of a join before their values are known. A value is stored as a number in the order of the values,
// not yet as an id.
class Int32Values {
 public:
  Int32Values(bool self_join, MemoryCounter &memory)
      : self_join_(self_join), memory_(memory), sample_(memory) {}

  // For numbers below `numbers` that are in blocks already, of which about `distinct` occur.
  Int32Values(bool self_join, uint32_t numbers, uint64_t distinct, MemoryCounter &memory)
      : self_join_(self_join),
        memory_(memory),
        sample_(memory),
        in_blocks_(distinct),
        smallest_(0),
        largest_(numbers - 1) {}

  // Writes the distinct values of a set to `numbers` (room for tokens.size()), ascending. Returns their
  // number.
  uint32_t take(std::span<const int32_t> tokens, uint32_t *numbers);
  // Takes several sets at once, whose tokens follow each other, if the tokens of each ascend: all of them are
  // distinct then. Returns false, and takes none, if those of a set do not. Writes to `numbers` (room for all
  // tokens) either way.
  bool take_ascending(std::span<const int32_t> tokens, std::span<const uint32_t> lengths, uint32_t *numbers);
  // Returns about the number of distinct values.
  uint64_t distinct_values() const {
    return std::min(span(), in_blocks_ + not_sampled_ + sample_.estimate());
  }
  // Returns about the bytes that rank() takes at least for sets of `tokens` tokens in all.
  size_t ranking_bytes(uint64_t tokens) const;

  // Returns the ranks of all values. apply_ranks() looks them up by what the blocks of the sides hold then:
  // the numbers, or ids in their place. Blocks may be in the file (then not null). Uses about `extra_bytes`
  // more than the least if that helps. The order may be that of the frequencies whatever is asked for.
  Ranking rank(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes, WorkerPool &pool,
               RankOrder order = RankOrder::frequency) const;

  // Returns in how many sets each number of the range is, from the least on, or
  // DocumentFrequencies::unshared. Called in place of rank(), for numbers without large gaps.
  Buffer<uint32_t> frequencies(RawSets &left, RawSets &right, SpillFile *file, size_t extra_bytes,
                               WorkerPool &pool) const;

 private:
  uint64_t span() const { return smallest_ <= largest_ ? uint64_t{largest_} - smallest_ + 1 : 0; }
  bool few() const;
  void sample(std::span<const int32_t> tokens);
  bool dense(uint64_t tokens) const;
  Buffer<uint32_t> count_parts(RawSets &raw, SpillFile *file, uint32_t parts, WorkerPool &pool) const;
  Buffer<uint32_t> count_copies(RawSets &raw, SpillFile *file, uint32_t copies, WorkerPool &pool) const;
  Buffer<uint32_t> count_dense(const std::vector<RawSets *> &sides, SpillFile *file, size_t extra_bytes,
                               WorkerPool &pool, uint32_t &distinct) const;
  Ranking rank_ranges(const RangedNumbers &numbers, SpillFile &file, size_t extra_bytes,
                      WorkerPool &pool) const;

  const bool self_join_;
  MemoryCounter &memory_;
  ShortSort sort_;
  DistinctSample sample_;
  const uint64_t in_blocks_ = 0;    // distinct numbers that take() has not seen
  uint64_t taken_ = 0;              // numbers that it has seen
  uint64_t not_sampled_ = 0;        // distinct numbers that are not in the sample, at most
  uint32_t smallest_ = UINT32_MAX;  // number
  uint32_t largest_ = 0;
};

}  // namespace simjoin
