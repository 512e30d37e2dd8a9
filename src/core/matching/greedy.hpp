// Greedy one-to-one matching.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/matching/partner.hpp"
#include "core/sort/pair_keys.hpp"

namespace simjoin {

// Keeps each of the pairs, in their order, that has no row of a pair kept before, and gives its left row the
// partner. No left row of a pair has one yet. `taken` says of each right row whether it is taken.
void match_in_order(const SortKey *pairs, size_t count, Partner *partners, uint8_t *taken,
                    const StopFlag &stop);

// Returns the partner of each left row. The pairs are keys BySimilarity, and are sorted.
Buffer<Partner> match_greedily(Buffer<SortKey> &pairs, uint32_t left_rows, uint32_t right_rows,
                               WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
