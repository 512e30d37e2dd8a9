// Ranks: the order of the tokens by rarity, on which prefixes rest.
#pragma once

#include <cstdint>

#include "core/interner.hpp"
#include "core/memory.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

// Ranks of token ids: 0 is the rarest token that can be shared at all. Tokens that no pair can share (in one
// set only; or, between two collections, on one side only) have none: they count in the size of their set
// alone.
struct Ranking {
  static constexpr uint32_t none = UINT32_MAX;

  explicit Ranking(MemoryCounter &memory) : rank_of(memory) {}

  Buffer<uint32_t> rank_of;  // by id
  uint32_t ranks = 0;
};

// Returns the ranks of all ids: ascending by the number of sets with the token, ties by value (bytes, for
// text), and so independent of the order in which the sets came. Takes the interner's frequencies.
Ranking rank_tokens(IntegerInterner &interner, WorkerPool &pool, MemoryCounter &memory);
Ranking rank_tokens(TextInterner &interner, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
