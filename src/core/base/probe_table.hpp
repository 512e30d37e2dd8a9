// Hash tables with open addressing and linear probing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"

namespace simjoin {

// Returns the first place from `home` on for which ends(place) holds. The first of all `places` follows the
// last. There must be such a place.
template <class Ends>
size_t probe(size_t home, size_t places, Ends &&ends) {
  SIMJOIN_CHECK(home < places);
  size_t place = home;
  while (!ends(place)) place = place + 1 < places ? place + 1 : 0;
  return place;
}

// A table for any number of entries, which never stops for long to grow: it is cut into parts, and each part
// grows on its own. An Entry is trivial. It has free() and hash(), 64 bits whose upper bits choose its place.
//
// Parts of one size lie side by side in one array, so that the array can have huge pages. A part that grows
// moves to the array of the next size. The last part to leave an array releases its memory.
template <class Entry>
class ProbeTable {
 public:
  ProbeTable(MemoryCounter &memory, const Entry &free) : memory_(memory), free_(free) { clear(); }

  // Prefetches the memory that find() looks at first.
  void prefetch(uint64_t hash) const { __builtin_prefetch(first_place(hash)); }
  // Returns where find() looks first: maybe the entry with this hash.
  const Entry *first_place(uint64_t hash) const {
    const Part &part = parts_[hash >> part_shift];
    return part.entries + home(part, hash);
  }
  // Returns the place of the entry that has this hash and for which same(entry) holds, or the free place
  // where it belongs. The next add() may move it.
  template <class Same>
  Entry *find(uint64_t hash, Same &&same) const {
    const Part &part = parts_[hash >> part_shift];
    return part.entries + probe(home(part, hash), part.places, [&](size_t place) {
             return part.entries[place].free() || same(part.entries[place]);
           });
  }
  // Puts an entry into the free place that find() has returned for it. Returns its place, where the next
  // add() may move it from.
  Entry *add(Entry *place, const Entry &entry) {
    Part *part = &parts_[entry.hash() >> part_shift];
    if (part->room == 0) {
      grow(static_cast<size_t>(part - parts_));
      place = free_place(*part, entry.hash());
    }
    SIMJOIN_CHECK(place->free() && !entry.free());
    --part->room;
    ++used_;
    *place = entry;
    return place;
  }
  // Calls visit(entry) for each entry.
  template <class Visit>
  void for_each(Visit &&visit) const {
    for (const Part &part : parts_) visit_part(part, visit);
  }
  template <class Visit>
  void for_each(Visit &&visit) {
    for (const Part &part : parts_) visit_part(part, visit);
  }
  // Removes the entries for which gone(entry) holds.
  template <class Gone>
  void remove_if(Gone &&gone) {
    std::vector<Entry> kept;
    for (Part &part : parts_) {
      size_t removed = 0;
      kept.clear();
      visit_part(part, [&](const Entry &entry) { gone(entry) ? void(++removed) : kept.push_back(entry); });
      if (removed == 0) continue;
      std::fill_n(part.entries, part.places, free_);
      for (const Entry &entry : kept) *free_place(part, entry.hash()) = entry;
      part.room += static_cast<uint32_t>(removed);
      used_ -= removed;
    }
    if (used_ == 0) clear();
  }
  // Removes all entries.
  void clear() {
    arrays_.clear();
    used_ = 0;
    arrays_.push_back({Buffer<Entry>(memory_, parts_count * first_places, free_), parts_count});
    for (size_t number = 0; number < parts_count; ++number)
      parts_[number] = part_of(arrays_[0], number, first_places, 0);
  }
  // Returns the number of entries.
  size_t size() const { return used_; }
  // Returns the bytes that the table takes with `entries` entries, about and at most.
  static size_t bytes_of(size_t entries) {
    // An array is begun when the first parts of the one before it are half full.
    size_t places = first_places;
    while (entries * 2 >= places * parts_count) places *= 2;
    return (places + places / 2) * parts_count * sizeof(Entry);
  }
  // Gives the memory back. Afterwards only the destructor may be called.
  void release() { arrays_.clear(); }

 private:
  // In a table of 100,000,000 entries, each part takes some 20 ms to grow.
  static constexpr int part_bits = 7;
  static constexpr int part_shift = 64 - part_bits;
  static constexpr size_t parts_count = size_t{1} << part_bits;
  static constexpr size_t first_places = 16;

  struct Part {
    Entry *entries;
    size_t places;
    uint32_t room;  // the part grows after this number of further entries
    int shift;      // of a hash without the bits that choose its part
  };
  struct Array {
    Buffer<Entry> entries;  // room for all parts, whether they are there or not
    size_t parts;           // the parts that are there
  };

  static size_t home(const Part &part, uint64_t hash) { return hash << part_bits >> part.shift; }
  static Entry *free_place(const Part &part, uint64_t hash) {
    return part.entries +
           probe(home(part, hash), part.places, [&](size_t place) { return part.entries[place].free(); });
  }
  // Returns the number of entries with which a part is full: from half to three quarters of its places. All
  // parts have about as many entries, but must not grow at once.
  static size_t most_entries(size_t number, size_t places) {
    return (places * (2 * parts_count + number) + 4 * parts_count - 1) / (4 * parts_count);
  }
  // Returns part `number` of an array whose parts have `places` places, with `used` entries.
  static Part part_of(Array &array, size_t number, size_t places, size_t used) {
    const auto room = static_cast<uint32_t>(most_entries(number, places) - used);
    return {array.entries.data() + number * places, places, room, 64 - std::countr_zero(places)};
  }
  template <class Visit>
  static void visit_part(const Part &part, Visit &&visit) {
    for (size_t place = 0; place < part.places; ++place)
      if (!part.entries[place].free()) visit(part.entries[place]);
  }
  // Returns the number of the array whose parts have `places` places.
  static size_t array_of(size_t places) {
    return static_cast<size_t>(std::countr_zero(places) - std::countr_zero(first_places));
  }
  void grow(size_t number) {
    Part &part = parts_[number];
    const Part old = part;
    const size_t before = array_of(old.places), places = old.places * 2;
    while (arrays_.size() <= before + 1) arrays_.push_back({Buffer<Entry>(memory_), 0});
    Array &array = arrays_[before + 1];
    if (array.entries.empty()) array.entries.resize(parts_count * places);
    part = part_of(array, number, places, most_entries(number, old.places));
    ++array.parts;
    std::fill_n(part.entries, places, free_);
    visit_part(old, [&](const Entry &entry) { *free_place(part, entry.hash()) = entry; });
    if (--arrays_[before].parts == 0) arrays_[before].entries.release();
  }

  MemoryCounter &memory_;
  const Entry free_;
  Part parts_[parts_count];
  std::vector<Array> arrays_;  // by the size of their parts
  size_t used_ = 0;
};

}  // namespace simjoin
