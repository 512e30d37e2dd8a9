// A table of how often numbers come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/memory.hpp"
#include "core/base/number_parts.hpp"
#include "core/base/probe_table.hpp"

namespace simjoin {

// Where no more numbers than these are distinct, tables stay in the cache.
inline constexpr uint64_t most_in_small_table = uint64_t{1} << 16;

// The numbers of one part, by open addressing: how often each is on a side, or its rank. No number is
// removed, so that no free entry comes between a number and the entry that its hash tells. On lines of its
// own, since each worker counts in one.
template <typename Number, int sides>
class alignas(64) CountTable {
 public:
  struct Entry {
    Number number;
    uint32_t counts[sides];  // none, while the entry is free; the rank then takes the first one's place
  };

  CountTable(uint32_t parts, MemoryCounter &memory) : parts_(parts), entries_(memory) {}

  // Makes room for so many more numbers, those that are there already included.
  void reserve(size_t more);
  void prefetch(Number number) const { __builtin_prefetch(&entries_[home(number)]); }
  void count(int side, Number number) {
    Entry &entry = place_of(number);
    if (free(entry)) {
      entry.number = number;
      ++used_;
    }
    ++entry.counts[side];
  }
  size_t used() const { return used_; }
  Buffer<Entry> &entries() { return entries_; }
  // Returns the rank of a number that was counted, once its entry has one.
  uint32_t rank(Number number) const {
    const size_t place =
        probe(home(number), entries_.size(), [&](size_t at) { return entries_[at].number == number; });
    return entries_[place].counts[0];
  }

 private:
  // Entries of a table for each number that it is expected to have: the estimate is a few per cent off. In a
  // table that stays in the cache, to find the entry at the first look matters most.
  static constexpr double room = 1.6, room_of_small = 4;
  static constexpr size_t least_entries = 64;

  static bool free(const Entry &entry) { return entry.counts[0] == 0 && entry.counts[sides - 1] == 0; }
  size_t home(Number number) const { return NumberPart(number, parts_).hash * entries_.size() >> 32; }
  // Returns the entry of the number, or the one that it will have.
  Entry &place_of(Number number) {
    return entries_[probe(home(number), entries_.size(),
                          [&](size_t at) { return entries_[at].number == number || free(entries_[at]); })];
  }

  const uint32_t parts_;
  size_t used_ = 0;
  Buffer<Entry> entries_;
};

template <typename Number, int sides>
void CountTable<Number, sides>::reserve(size_t more) {
  // Past three quarters, linear probing starts to walk.
  if ((used_ + more) * 4 <= entries_.size() * 3) return;
  const Buffer<Entry> old = std::move(entries_);
  const size_t numbers = used_ + more;
  const auto wanted = static_cast<size_t>((numbers * parts_ > most_in_small_table ? room : room_of_small) *
                                          static_cast<double>(numbers));
  entries_.resize(std::max(wanted + least_entries, 2 * old.size()), Entry{});
  for (const Entry &entry : old) {
    if (!free(entry)) place_of(entry.number) = entry;
  }
}

}  // namespace simjoin
