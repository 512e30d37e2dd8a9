#include "core/sets/distinct_sample.hpp"

#include <utility>

#include "core/base/probe_table.hpp"

namespace simjoin {

void DistinctSample::insert(uint32_t hash) {
  if (table_.empty()) table_.resize(slots, free_slot);
  put(hash);
  while (used_ > most_used) {
    bound_ /= 2;
    const Buffer<uint32_t> old = std::move(table_);
    table_.resize(slots, free_slot);
    used_ = 0;
    for (const uint32_t kept : old) {
      if (kept < bound_) put(kept);
    }
  }
}

// Adds a hash that is not there yet.
void DistinctSample::put(uint32_t hash) {
  if (hash == free_slot) return;
  const size_t slot =
      probe(hash % slots, slots, [&](size_t at) { return table_[at] == free_slot || table_[at] == hash; });
  used_ += table_[slot] == free_slot;
  table_[slot] = hash;
}

}  // namespace simjoin
