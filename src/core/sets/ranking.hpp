// Ranks: the order of the tokens by rarity, on which prefixes rest.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/interner.hpp"

namespace simjoin {

// Ranks of token ids: 0 is the rarest token that can be shared at all. Tokens that no pair can share (in one
// set only; or, between two collections, on one side only) have none: they count in the size of their set
// alone.
struct Ranking {
  static constexpr uint32_t none = UINT32_MAX;

  explicit Ranking(MemoryCounter &memory) : rank_of(memory) {}

  // Returns whether there is a table of ranks. Otherwise ids are ranks themselves, from first_id on.
  bool has_table() const { return !rank_of.empty(); }
  // Returns the rank of an id, or `none`: with a table, and without.
  uint32_t of(uint32_t id) const { return rank_of[id - first_id]; }
  uint32_t rank_in(uint32_t id) const { return id - first_id < ranks ? id - first_id : none; }

  Buffer<uint32_t> rank_of;  // by id, from the first one on
  uint32_t first_id = 0;
  uint32_t ranks = 0;
  uint32_t distinct = 0;  // ids that occur
};

// Returns the ranks of all ids: ascending by the number of sets with the token, ties by value (bytes, for
// text), and so independent of the order in which the sets came. Takes the interner's frequencies.
Ranking rank_tokens(IntegerInterner &interner, WorkerPool &pool, MemoryCounter &memory);
Ranking rank_tokens(TextInterner &interner, WorkerPool &pool, MemoryCounter &memory);

// Returns the same for ids that are in the order of their values, from their frequencies (with `none` for
// those that cannot be shared).
Ranking rank_in_order(Buffer<uint32_t> frequencies, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
