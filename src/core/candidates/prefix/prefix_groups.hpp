// Groups of sets that a prefix index cannot tell apart, since size and prefix are equal (the idea of
// GroupJoin, Bouros, Ge and Mamoulis 2012).
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
  // Returns the set's group.
  uint32_t group_of(uint32_t set) const;

  Buffer<uint32_t> first;
};

// Reorders the sets within each size so that equal prefixes are neighbours, and returns the groups.
// `prefix[k]` is the prefix length of the sets of class k.
PrefixGroups group_by_prefix(SetCollection &sets, const std::vector<uint32_t> &prefix, WorkerPool &pool,
                             MemoryCounter &memory);

}  // namespace simjoin
