// Ranks of integers that lie far apart: they are counted in hash tables, and one worker fills each table. A
// number has 32 or 64 bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/count_table.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/repeated_numbers.hpp"

namespace simjoin {

// Returns whether so many numbers, of which so many are distinct, are worth a filter of those that come once.
// These are half of them at least, and a table of all would not stay in the cache.
inline bool pays_to_filter(uint64_t tokens, uint64_t distinct) {
  return distinct > 4 * most_in_small_table && 4 * (tokens - distinct) <= tokens;
}

// Returns about how many distinct numbers pass the filter, at most.
inline uint64_t counted_if_filtered(uint64_t tokens, uint64_t distinct) {
  return std::min(distinct, tokens - distinct + RepeatedNumbers::mistaken(distinct));
}

// The bytes that rank_hashed() takes at most for so many numbers, about. A number that is counted has a place
// in a table that is not full, and another one while the table grows. If it can be shared, it has a sorted
// key, too.
template <typename Number>
size_t hashed_bytes(uint64_t tokens, uint64_t distinct) {
  constexpr size_t wider = sizeof(Number) > sizeof(uint32_t) ? 10 : 0;
  if (pays_to_filter(tokens, distinct))
    return std::max(RepeatedNumbers::bytes(tokens), counted_if_filtered(tokens, distinct) * (wider + 48));
  // A table of few numbers has more free places.
  return distinct * (wider + (distinct > most_in_small_table ? 48 : 86));
}

// Replaces the numbers in the blocks by ranks, which Ranking::rank_in() takes; there is no table. `sides` has
// one side for a self-join, otherwise two. Blocks of numbers of 32 bits may be in the file (then not null).
// `distinct` is about the number of distinct numbers. Any order is asked for to save time.
template <typename Number>
Ranking rank_hashed(const std::vector<RawSets *> &sides, RankOrder order, SpillFile *file, uint64_t distinct,
                    WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
