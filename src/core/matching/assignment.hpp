// One-to-one matching with the greatest sum of similarities.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/matching/partner.hpp"
#include "core/sort/pair_keys.hpp"

namespace simjoin {

// The most pairs that the search looks at within one component of the graph of pairs, a pair as often as the
// search comes to it. A component for which that is too few is matched greedily.
inline constexpr uint64_t most_pairs_looked_at = 2'000'000'000;

struct Assignment {
  Buffer<Partner> partners;      // of each left row
  size_t greedy_components = 0;  // that were matched greedily
};

// Returns an assignment with the greatest sum. Sums are exact: a similarity counts as a multiple of 2^-120 of
// the least power of two above all of them. Where several assignments have that sum, one is chosen that
// depends on the pairs alone. Pairs of similarity 0 add nothing and are left out. The pairs are keys ByLeft,
// and are sorted. Throws Error limit_exceeded at 2^32 rows of both sides together.
Assignment assign(Buffer<SortKey> &pairs, uint32_t left_rows, uint32_t right_rows, uint64_t most_looked_at,
                  WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
