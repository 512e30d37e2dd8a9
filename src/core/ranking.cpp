#include "core/ranking.hpp"

#include <algorithm>

#include "core/parallel_sort.hpp"

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;  // tokens between looks at the stop flag

// Returns whether two sets, of the two sides where there are two, can share the token.
bool shareable(const DocumentFrequencies &frequencies, uint32_t id, bool self_join) {
  if (self_join) return frequencies.of(Side::left, id) >= 2;
  return frequencies.of(Side::left, id) > 0 && frequencies.of(Side::right, id) > 0;
}

// Returns the key (frequency: 32 bits, value: 64 bits, id: 32 bits).
SortKey rank_key(const DocumentFrequencies &frequencies, uint64_t value, uint32_t id) {
  const uint64_t both = uint64_t{frequencies.of(Side::left, id)} + frequencies.of(Side::right, id);
  const uint64_t frequency = std::min<uint64_t>(both, UINT32_MAX);
  SortKey key;
  key.hi = frequency << 32 | value >> 32;
  key.lo = value << 32 | id;
  return key;
}

uint32_t id_of(const SortKey &key) {
  return static_cast<uint32_t>(key.lo);
}

// Returns the first eight bytes as a number that compares as the bytes do.
uint64_t leading_bytes(std::string_view text) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i)
    value = value << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  return value;
}

Ranking ranks_in_order(const Buffer<SortKey> &keys, uint32_t ids, const StopFlag &stop,
                       MemoryCounter &memory) {
  Ranking ranking(memory);
  ranking.rank_of.resize(ids, Ranking::none);
  ranking.ranks = static_cast<uint32_t>(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    ranking.rank_of[id_of(keys[i])] = static_cast<uint32_t>(i);
  }
  return ranking;
}

// Puts tokens that agree in frequency and leading bytes into the order of all their bytes.
void order_long_texts(Buffer<SortKey> &keys, const TextInterner &interner, const StopFlag &stop) {
  const auto same = [](const SortKey &a, const SortKey &b) {
    return a.hi == b.hi && a.lo >> 32 == b.lo >> 32;
  };
  size_t compared = 0;
  for (size_t begin = 0, end; begin < keys.size(); begin = end) {
    if (begin % check_interval == 0) stop.check();
    for (end = begin + 1; end < keys.size() && same(keys[begin], keys[end]);) ++end;
    if (end - begin < 2) continue;
    std::sort(keys.begin() + begin, keys.begin() + end, [&](const SortKey &a, const SortKey &b) {
      if (++compared % check_interval == 0) stop.check();
      return interner.text(id_of(a)) < interner.text(id_of(b));
    });
  }
}

}  // namespace

Ranking rank_tokens(const IntegerInterner &interner, bool self_join, WorkerPool &pool,
                    MemoryCounter &memory) {
  const DocumentFrequencies &frequencies = interner.frequencies();
  Buffer<SortKey> keys(memory);
  for (size_t begin = 0; begin < interner.slots(); begin += check_interval) {
    pool.stop().check();
    interner.visit(begin, std::min(begin + check_interval, interner.slots()),
                   [&](int64_t value, uint32_t id) {
                     if (!shareable(frequencies, id, self_join)) return;
                     const uint64_t ascending = static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63;
                     keys.push_back(rank_key(frequencies, ascending, id));
                   });
  }
  sort_keys(keys, pool, memory);
  return ranks_in_order(keys, frequencies.ids(), pool.stop(), memory);
}

Ranking rank_tokens(const TextInterner &interner, bool self_join, WorkerPool &pool, MemoryCounter &memory) {
  const DocumentFrequencies &frequencies = interner.frequencies();
  Buffer<SortKey> keys(memory);
  for (uint32_t id = 0; id < frequencies.ids(); ++id) {
    if (id % check_interval == 0) pool.stop().check();
    if (!shareable(frequencies, id, self_join)) continue;
    keys.push_back(rank_key(frequencies, leading_bytes(interner.text(id)), id));
  }
  sort_keys(keys, pool, memory);
  order_long_texts(keys, interner, pool.stop());
  return ranks_in_order(keys, frequencies.ids(), pool.stop(), memory);
}

}  // namespace simjoin
