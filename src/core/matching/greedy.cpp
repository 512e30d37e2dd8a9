#include "core/matching/greedy.hpp"

#include "core/base/parallel_ranges.hpp"

namespace simjoin {

void match_in_order(const SortKey *pairs, size_t count, Partner *partners, uint8_t *taken,
                    const StopFlag &stop) {
  for (size_t i = 0; i < count; ++i) {
    stop.check_at(i);
    const RankedPair pair = BySimilarity::pair(pairs[i]);
    if (taken[pair.right] != 0 || partners[pair.left].right != Partner::none) continue;
    taken[pair.right] = 1;
    partners[pair.left] = {pair.similarity, pair.right};
  }
}

Buffer<Partner> match_greedily(Buffer<SortKey> &pairs, uint32_t left_rows, uint32_t right_rows,
                               WorkerPool &pool, MemoryCounter &memory) {
  sort_keys(pairs, pool, memory);
  Buffer<Partner> partners(memory);
  fill(partners, left_rows, {0, Partner::none}, pool);
  Buffer<uint8_t> taken(memory);
  fill(taken, right_rows, uint8_t{0}, pool);
  match_in_order(pairs.data(), pairs.size(), partners.data(), taken.data(), pool.stop());
  return partners;
}

}  // namespace simjoin
