// Integers of 64 bits wait for the end of the input as they are, as those of 32 bits do. Then all threads
// count them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/distinct_sample.hpp"
#include "core/sets/int32_values.hpp"
#include "core/sets/numbered_sets.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

// The sets of a join in memory before their values are known. A value is stored as a number in the order of
// the values, which takes the place of two ids.
class Int64Values {
 public:
  static constexpr uint32_t ids_per_number = 2;

  Int64Values(bool self_join, MemoryCounter &memory)
      : self_join_(self_join), memory_(memory), sample_(memory) {}

  // Writes the distinct values of a set to `numbers` (room for tokens.size()) and returns how many they are.
  // They come in any order, or with `in_order`, for tokens that are distinct already, in that of the tokens.
  uint32_t take(std::span<const int64_t> tokens, uint64_t *numbers, bool in_order = false);
  // Takes note of numbers that blocks have already.
  void see(const uint64_t *numbers, size_t count);
  // Returns about the number of distinct values.
  uint64_t distinct_values() const { return sample_.estimate(); }
  // Returns about the bytes that rank() takes at least for sets of `tokens` tokens in all, or what gives all
  // numbers ids if there will be a file after all. Some set had a token.
  size_t ranking_bytes(uint64_t tokens) const;
  // Returns the most that this is for so many tokens and distinct values.
  static size_t most_ranking_bytes(uint64_t tokens, uint64_t distinct);

  // Returns the ranks of all values, and leaves what apply_ranks() looks up in the blocks of the sides: one
  // id for each number. Some set had a token. Uses about `extra_bytes` more than the least if that helps.
  Ranking rank(RawSets &left, RawSets &right, size_t extra_bytes, WorkerPool &pool) const;

 private:
  bool fit_32_bits() const { return largest_ - smallest_ < UINT32_MAX; }
  Int32Values differences() const;

  const bool self_join_;
  MemoryCounter &memory_;
  DistinctNumbers distinct_;
  DistinctSample sample_;           // of hashes of the numbers
  uint64_t smallest_ = UINT64_MAX;  // number
  uint64_t largest_ = 0;
};

}  // namespace simjoin
