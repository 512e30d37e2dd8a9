// Ranks of integers that lie far apart: they are counted in hash tables, and one worker fills each table. A
// number has 32 or 64 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"

namespace simjoin {

// Where no more numbers than these are distinct, tables stay in the cache.
constexpr uint64_t most_in_small_table = uint64_t{1} << 16;

// The bytes that rank_hashed() takes at most for so many distinct numbers, about. The number has a place in a
// table that is not full, and another one while the table grows. If it can be shared, it has a sorted key,
// too.
template <typename Number>
constexpr size_t hashed_bytes(uint64_t distinct) {
  constexpr size_t wider = sizeof(Number) > sizeof(uint32_t) ? 10 : 0;
  // A table of few numbers has more free places.
  return distinct * (wider + (distinct > most_in_small_table ? 48 : 86));
}

// Replaces the numbers in the blocks by ranks, which Ranking::rank_in() takes; there is no table. `sides` has
// one side for a self-join, otherwise two. Blocks of numbers of 32 bits may be in the file (then not null).
// `distinct` is about the number of distinct numbers.
template <typename Number>
Ranking rank_hashed(const std::vector<RawSets *> &sides, SpillFile *file, uint64_t distinct, WorkerPool &pool,
                    MemoryCounter &memory);

}  // namespace simjoin
