// A number for each character of a text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/mix.hpp"

namespace simjoin {

// The numbers are 0 at first. Characters are numbers of 8 bits, or of 32 bits of which not all are set.
template <typename Character>
class CharacterTable;

template <>
class CharacterTable<uint8_t> {
 public:
  uint32_t &of(uint8_t character) { return numbers_[character]; }

 private:
  uint32_t numbers_[256] = {};
};

template <>
class CharacterTable<uint32_t> {
 public:
  // The number stays where it is until the next call.
  uint32_t &of(uint32_t character) {
    Entry *entry = place_of(character);
    if (entry->character == free) {
      if (++used_ * 2 > entries_.size()) {
        grow();
        entry = place_of(character);
      }
      entry->character = character;
    }
    return entry->number;
  }

 private:
  static constexpr uint32_t free = ~uint32_t{0};
  static constexpr size_t first_places = 64;

  struct Entry {
    uint32_t character = free;
    uint32_t number = 0;
  };

  // Returns the entry of the character, or the free one where it would go.
  Entry *place_of(uint32_t character) {
    size_t place = (character * golden_gamma) >> (64 - std::countr_zero(entries_.size()));
    while (entries_[place].character != character && entries_[place].character != free)
      place = (place + 1) % entries_.size();
    return &entries_[place];
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry &entry : old)
      if (entry.character != free) *place_of(entry.character) = entry;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(first_places);
  size_t used_ = 0;
};

}  // namespace simjoin
