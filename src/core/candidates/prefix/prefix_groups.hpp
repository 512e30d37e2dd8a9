// Groups of sets that a prefix index cannot tell apart: equal size, equal prefix (the idea of GroupJoin,
// Bouros, Ge and Mamoulis 2012).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// The sets of a collection cut into runs: group g is the sets [first[g], first[g + 1]).
struct PrefixGroups {
  explicit PrefixGroups(MemoryCounter &memory) : first(memory) {}

  uint32_t groups() const { return static_cast<uint32_t>(first.size() - 1); }
  // Returns the group that a set belongs to.
  uint32_t group_of(uint32_t set) const;

  Buffer<uint32_t> first;
};

// Reorders the sets within each size so that equal prefixes (`prefix[k]` tokens for the sets of class k) are
// neighbours, and returns the groups.
PrefixGroups group_by_prefix(SetCollection &sets, const std::vector<uint32_t> &prefix, WorkerPool &pool,
                             MemoryCounter &memory);

}  // namespace simjoin
