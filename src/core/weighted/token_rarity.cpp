#include "core/weighted/token_rarity.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "core/base/parallel_ranges.hpp"
#include "core/base/weight.hpp"

namespace simjoin {
namespace {

// A worker counts so many of the most frequent tokens beside the others, so that workers do not contend.
constexpr uint32_t most_frequent = 1u << 13;
constexpr uint64_t tokens_per_own = 4;  // at least so many tokens in the block for each of them
constexpr size_t weights_per_range = size_t{1} << 16;
// Every weight is a float4 of at least 1, so it is a multiple of this power of two.
constexpr int lowest_exponent = 1 - std::numeric_limits<float>::digits;

}  // namespace

TokenRarity::TokenRarity(const RankedBlocks &sets, const Ranking &ranking, WorkerPool &pool,
                         MemoryCounter &memory)
    : weights_(memory, ranking.ranks, 0) {
  const size_t of_left = sets.left.blocks.size();
  pool.parallel(of_left + sets.right.blocks.size(), [&](int, size_t number) {
    if (number < of_left)
      count(sets.left, sets.left.blocks[number], &sets.copies, sets.file, ranking, pool.stop());
    else
      count(sets.right, sets.right.blocks[number - of_left], nullptr, sets.file, ranking, pool.stop());
  });
  uint64_t all = sets.left.sizes.filled() + sets.right.sizes.filled();
  for (size_t row = 0; row < sets.copies.size(); ++row) {
    pool.stop().check_at(row);
    all += sets.copies[row];
  }
  alone_ = stored_rarity(all, 1);
  for_ranges(pool, weights_.size(), weights_per_range, [&](size_t begin, size_t end) {
    for (size_t rank = begin; rank < end; ++rank)
      weights_[rank] = std::bit_cast<uint32_t>(stored_rarity(all, weights_[rank]));
  });
}

// Counts the tokens of a block. Copies are those of the first rows of its side, or null.
void TokenRarity::count(const RawSets &raw, const RawBlock &block, const Buffer<uint32_t> *copies,
                        SpillFile *file, const Ranking &ranking, const StopFlag &stop) {
  const auto own = static_cast<uint32_t>(std::min<uint64_t>(most_frequent, block.tokens / tokens_per_own));
  const uint32_t first_frequent = ranking.ranks - std::min(ranking.ranks, own);
  std::vector<uint32_t> frequent(ranking.ranks - first_frequent, 0);
  uint32_t row = block.first_row, left = 0, times = 0;  // tokens that are left of the row before `row`
  raw.visit(block, file, stop, [&](const uint32_t *ids, size_t count) {
    for (size_t i = 0; i < count; ++i, --left) {
      while (left == 0) {
        left = raw.sizes[row];
        times = 1 + (copies != nullptr && row < copies->size() ? (*copies)[row] : 0);
        ++row;
      }
      const uint32_t rank = ranking.rank(ids[i]);
      if (rank == Ranking::none) continue;
      if (rank >= first_frequent)
        frequent[rank - first_frequent] += times;
      else
        std::atomic_ref(weights_[rank]).fetch_add(times, std::memory_order_relaxed);
    }
  });
  for (uint32_t i = 0; i < frequent.size(); ++i)
    if (frequent[i] > 0)
      std::atomic_ref(weights_[first_frequent + i]).fetch_add(frequent[i], std::memory_order_relaxed);
}

WeightRange TokenRarity::range(uint32_t largest_set) const {
  WeightRange range;
  range.total = alone_ * largest_set;
  range.lowest = lowest_exponent;
  return range;
}

}  // namespace simjoin
