// A hash table that never stops for long to grow: it is cut into parts, each of which grows on its own.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/memory.hpp"

namespace simjoin {

// Entries by 64-bit hashes of which all bits count, with open addressing. An Entry is trivial and has the
// members `id`, no_id where the place is free, and `hash()`.
//
// Parts of one size lie side by side in one array, so that it can have huge pages: a part that grows moves to
// the array of the next size, and the last one to leave an array takes its memory along.
template <class Entry>
class SplitTable {
 public:
  static constexpr uint32_t no_id = UINT32_MAX;

  SplitTable(MemoryCounter &memory, const Entry &free) : memory_(memory), free_(free) { clear(); }

  // Asks for the memory that find() looks at first.
  void prefetch(uint64_t hash) const { __builtin_prefetch(first_place(hash)); }
  // Returns where find() looks first: maybe the entry with this hash.
  const Entry *first_place(uint64_t hash) const {
    const Part &part = parts_[hash >> part_shift];
    return part.entries + (hash & part.mask);
  }
  // Returns the place of the entry that has this hash and for which same(entry) holds, or the free place
  // where it belongs. The next add() may move it.
  template <class Same>
  Entry *find(uint64_t hash, Same &&same) {
    const Part &part = parts_[hash >> part_shift];
    size_t place = hash & part.mask;
    while (part.entries[place].id != no_id && !same(part.entries[place])) place = (place + 1) & part.mask;
    return part.entries + place;
  }
  // Puts an entry into the free place that find() has returned for it. Returns its place, where the next
  // add() may move it from.
  Entry *add(Entry *place, const Entry &entry) {
    const size_t number = entry.hash() >> part_shift;
    if (is_full(number)) {
      grow(number);
      place = free_place(parts_[number], entry.hash());
    }
    ++parts_[number].used;
    ++used_;
    *place = entry;
    return place;
  }
  // Calls visit(entry) for each entry.
  template <class Visit>
  void for_each(Visit &&visit) const {
    for (const Part &part : parts_) {
      for (size_t place = 0; place <= part.mask; ++place) {
        if (part.entries[place].id != no_id) visit(part.entries[place]);
      }
    }
  }
  // Removes the entries for which gone(entry) holds.
  template <class Gone>
  void remove_if(Gone &&gone) {
    if (used_ == 0) return;
    std::vector<Array> old = std::exchange(arrays_, {});
    const std::vector<Part> parts(parts_, parts_ + parts_count);
    clear();
    for (const Part &part : parts) {
      for (size_t place = 0; place <= part.mask; ++place) {
        const Entry &entry = part.entries[place];
        if (entry.id == no_id || gone(entry)) continue;
        add(free_place(parts_[entry.hash() >> part_shift], entry.hash()), entry);
      }
    }
  }
  // Returns the number of entries.
  size_t size() const { return used_; }
  // Returns the bytes that it takes, about and at most, with so many entries.
  static size_t bytes_of(size_t entries) {
    // An array is begun when the first parts of the one before it are half full.
    size_t places = first_places;
    while (entries * 2 >= places * parts_count) places *= 2;
    return (places + places / 2) * parts_count * sizeof(Entry);
  }
  // Gives the memory back; only the destructor may be called then.
  void release() { arrays_.clear(); }

 private:
  // To grow the table of 100,000,000 entries part by part takes some 20 ms each.
  static constexpr int part_bits = 7;
  static constexpr int part_shift = 64 - part_bits;
  static constexpr size_t parts_count = size_t{1} << part_bits;
  static constexpr size_t first_places = 16;

  struct Part {
    Entry *entries;
    size_t mask;  // places - 1
    size_t used;
  };
  struct Array {
    Buffer<Entry> entries;  // of all parts, whether they are there or not
    size_t parts;           // that are there
  };

  void clear() {
    arrays_.clear();
    used_ = 0;
    arrays_.push_back({Buffer<Entry>(memory_, parts_count * first_places, free_), parts_count});
    for (size_t number = 0; number < parts_count; ++number)
      parts_[number] = {arrays_[0].entries.data() + number * first_places, first_places - 1, 0};
  }
  // Parts are full from half to three quarters on: all have about as many entries, but must not grow at once.
  bool is_full(size_t number) const {
    const Part &part = parts_[number];
    return part.used * 4 * parts_count >= (part.mask + 1) * (2 * parts_count + number);
  }
  static Entry *free_place(const Part &part, uint64_t hash) {
    size_t place = hash & part.mask;
    while (part.entries[place].id != no_id) place = (place + 1) & part.mask;
    return part.entries + place;
  }
  // Returns the number of the array whose parts have so many places.
  static size_t array_of(size_t places) {
    return static_cast<size_t>(std::countr_zero(places) - std::countr_zero(first_places));
  }
  void grow(size_t number) {
    const Part old = parts_[number];
    const size_t before = array_of(old.mask + 1), places = (old.mask + 1) * 2;
    while (arrays_.size() <= before + 1) arrays_.push_back({Buffer<Entry>(memory_), 0});
    Array &array = arrays_[before + 1];
    if (array.entries.empty()) array.entries.resize(parts_count * places);
    Part &part = parts_[number];
    part = {array.entries.data() + number * places, places - 1, old.used};
    ++array.parts;
    std::fill_n(part.entries, places, free_);
    for (size_t place = 0; place <= old.mask; ++place) {
      const Entry &entry = old.entries[place];
      if (entry.id != no_id) *free_place(part, entry.hash()) = entry;
    }
    if (--arrays_[before].parts == 0) arrays_[before].entries.release();
  }

  MemoryCounter &memory_;
  const Entry free_;
  Part parts_[parts_count];
  std::vector<Array> arrays_;  // by the size of their parts
  size_t used_ = 0;
};

}  // namespace simjoin
