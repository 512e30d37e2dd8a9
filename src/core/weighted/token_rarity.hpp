// What the tokens of a join weigh by their rarity in all its sets, which come without weights.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/ranking.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/weighted/exact_sum.hpp"

namespace simjoin {

// The sets of both sides, whose ids have ranks. Both sides are one collection (JoinTokens): a token without a
// rank is in one set. A set that has copies is joined twice (SetCopies), so its tokens have ranks.
struct RankedBlocks {
  const RawSets &left;
  const RawSets &right;
  const Buffer<uint32_t> &copies;  // of the first left rows: how often their sets count besides
  SpillFile *file;                 // of blocks that are not in memory; null without a file
};

class TokenRarity {
 public:
  TokenRarity(const RankedBlocks &sets, const Ranking &ranking, WorkerPool &pool, MemoryCounter &memory);

  // Returns the weight of a token of this rank, maybe Ranking::none: a float4.
  double weight(uint32_t rank) const {
    return rank == Ranking::none ? alone_ : static_cast<double>(std::bit_cast<float>(weights_[rank]));
  }
  // Returns a range that has the weights of all sets of up to so many tokens.
  WeightRange range(uint32_t largest_set) const;

 private:
  void count(const RawSets &raw, const RawBlock &block, const Buffer<uint32_t> *copies, SpillFile *file,
             const Ranking &ranking, const StopFlag &stop);

  Buffer<uint32_t> weights_;  // by rank: in how many sets it is, then its weight
  double alone_ = 0;          // the weight of a token that is in one set
};

}  // namespace simjoin
