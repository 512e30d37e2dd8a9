// Ranks: the order of the tokens by rarity, which prefixes depend on.
#pragma once

#include <cstdint>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/interner.hpp"
#include "core/sets/text_numbers.hpp"

namespace simjoin {

// Ranks of token ids: 0 is the rarest token that a pair can share. No pair can share a token that is in one
// set only or, between two collections, on one side only. Such tokens have no rank and count in the size of
// their set alone.
struct Ranking {
  static constexpr uint32_t none = UINT32_MAX;

  explicit Ranking(MemoryCounter &memory) : rank_of(memory) {}

  // Returns whether there is a table of ranks. Otherwise ids are ranks plus first_id; smaller and larger ids
  // have no rank.
  bool has_table() const { return !rank_of.empty(); }
  // All return the rank of an id, or `none`: of() if there is a table, rank_in() if not.
  uint32_t of(uint32_t id) const {
    SIMJOIN_CHECK(id - first_id < rank_of.size());
    return rank_of[id - first_id];
  }
  uint32_t rank_in(uint32_t id) const { return id - first_id < ranks ? id - first_id : none; }
  uint32_t rank(uint32_t id) const { return has_table() ? of(id) : rank_in(id); }

  Buffer<uint32_t> rank_of;  // by id, from first_id on
  uint32_t first_id = 0;
  uint32_t ranks = 0;
  uint32_t distinct = 0;  // ids that occur
  // Ids are values, which ascend within each set, and there is no table: so a set's last ids are its ranks
  // plus first_id, ascending.
  bool in_order_of_values = false;
};

// Which order of the tokens a join needs. Prefixes are short where tokens come by ascending frequency. Where
// one shared token is enough, they are whole sets in any order.
enum class RankOrder : uint8_t { frequency, any };

// Returns the ranks of all ids, ascending by the number of sets with the token. Ties are in the order of the
// values, so ranks do not depend on the order in which the sets came. Takes the interner's frequencies.
Ranking rank_tokens(IntegerInterner &interner, WorkerPool &pool, MemoryCounter &memory);
// Returns the same for the numbers of texts, with ties in the order of their keys. `frequencies` has `none`
// for texts that cannot be shared. Nothing may be asked of the texts afterwards.
Ranking rank_texts(Buffer<uint32_t> frequencies, TextNumbers &texts, WorkerPool &pool, MemoryCounter &memory);

// Returns the same for ids in the order of their values. `frequencies` has `none` for ids that cannot be
// shared. There is no table if the frequencies ascend by id, as those of a dictionary that was ordered by
// them do.
Ranking rank_in_order(Buffer<uint32_t> frequencies, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
