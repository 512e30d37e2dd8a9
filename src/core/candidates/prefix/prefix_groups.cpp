#include "core/candidates/prefix/prefix_groups.hpp"

#include <algorithm>

#include "core/sort/parallel_sort.hpp"

namespace simjoin {
namespace {

constexpr size_t sets_per_block = 4096;

size_t blocks_of(size_t sets) {
  return (sets + sets_per_block - 1) / sets_per_block;
}

// Returns the key (class: 32 bits, first rank: 32 bits, hash of the prefix: 32 bits, set: 32 bits). The first
// rank keeps sets of one index list close to each other. The hash makes equal prefixes neighbours.
SortKey prefix_key(const SetCollection &sets, uint32_t size_class, uint32_t set, uint32_t prefix) {
  const uint32_t length = sets.stored_prefix(set, sets.classes[size_class].size, prefix);
  const uint32_t *ranks = sets.begin(set);
  uint64_t hash = length;
  for (uint32_t i = 0; i < length; ++i) hash = (hash ^ ranks[i]) * 0x9E3779B97F4A7C15u;
  SortKey key;
  key.hi = uint64_t{size_class} << 32 | (length > 0 ? ranks[0] : 0);
  key.lo = (hash >> 32) << 32 | set;
  return key;
}

// Puts the sets into the order of the keys.
void permute(SetCollection &sets, const Buffer<SortKey> &keys, WorkerPool &pool, MemoryCounter &memory) {
  const size_t n = sets.sets();
  Buffer<uint64_t> starts(memory, n + 1);
  Buffer<uint32_t> rows(memory, n);
  Buffer<uint32_t> tokens(memory, sets.tokens.size());
  uint64_t placed = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % sets_per_block == 0) pool.stop().check();
    const auto set = static_cast<uint32_t>(keys[i].lo);
    starts[i] = placed;
    rows[i] = sets.rows[set];
    placed += sets.stored(set);
  }
  starts[n] = placed;
  pool.parallel(blocks_of(n), [&](int, size_t block) {
    for (size_t i = block * sets_per_block; i < std::min(n, (block + 1) * sets_per_block); ++i) {
      const auto set = static_cast<uint32_t>(keys[i].lo);
      std::copy_n(sets.begin(set), sets.stored(set), tokens.data() + starts[i]);
    }
  });
  sets.starts = std::move(starts);
  sets.rows = std::move(rows);
  sets.tokens = std::move(tokens);
}

bool same_prefix(const SetCollection &sets, uint32_t a, uint32_t b, uint32_t size, uint32_t prefix) {
  const uint32_t length = sets.stored_prefix(a, size, prefix);
  return length == sets.stored_prefix(b, size, prefix) &&
         std::equal(sets.begin(a), sets.begin(a) + length, sets.begin(b));
}

}  // namespace

uint32_t PrefixGroups::group_of(uint32_t set) const {
  return static_cast<uint32_t>(std::upper_bound(first.begin(), first.end(), set) - first.begin()) - 1;
}

PrefixGroups group_by_prefix(SetCollection &sets, const std::vector<uint32_t> &prefix, WorkerPool &pool,
                             MemoryCounter &memory) {
  const size_t n = sets.sets();
  {
    Buffer<SortKey> keys(memory, n);
    pool.parallel(blocks_of(n), [&](int, size_t block) {
      const auto begin = static_cast<uint32_t>(block * sets_per_block);
      const auto end = static_cast<uint32_t>(std::min(n, (block + 1) * sets_per_block));
      uint32_t size_class = sets.class_of(begin);
      for (uint32_t set = begin; set < end; ++set) {
        while (set >= sets.classes[size_class].end) ++size_class;
        keys[set] = prefix_key(sets, size_class, set, prefix[size_class]);
      }
    });
    sort_keys(keys, pool, memory);
    permute(sets, keys, pool, memory);
  }
  PrefixGroups groups(memory);
  for (size_t k = 0; k < sets.classes.size(); ++k) {
    const SizeClass &c = sets.classes[k];
    for (uint32_t set = c.begin; set < c.end; ++set) {
      if (set % sets_per_block == 0) pool.stop().check();
      if (set == c.begin || !same_prefix(sets, set - 1, set, c.size, prefix[k])) groups.first.push_back(set);
    }
  }
  groups.first.push_back(static_cast<uint32_t>(n));
  return groups;
}

}  // namespace simjoin
