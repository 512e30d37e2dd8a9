#include "core/sets/distinct_sample.hpp"

#include <algorithm>
#include <utility>

#include "core/base/probe_table.hpp"

namespace simjoin {

void DistinctSample::add_many(const uint32_t *values, size_t count) {
  constexpr size_t together = 512;
  uint32_t hashes[together + sample_padding];
  for (size_t begin = 0; begin < count; begin += together) {
    const auto greatest = static_cast<uint32_t>(bound_ - 1);
    const size_t found = sample_hashes(values + begin, std::min(together, count - begin), greatest, hashes);
    for (size_t i = 0; i < found; ++i) {
      if (hashes[i] < bound_) insert(hashes[i]);
    }
  }
}

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
