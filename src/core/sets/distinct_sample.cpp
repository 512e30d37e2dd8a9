#include "core/sets/distinct_sample.hpp"

#include <utility>

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
  size_t slot = hash % slots;
  while (table_[slot] != free_slot) {
    if (table_[slot] == hash) return;
    slot = (slot + 1) % slots;
  }
  table_[slot] = hash;
  ++used_;
}

}  // namespace simjoin
