// Token values to dense ids, while sets stream in: duplicates within a set collapse, and the number of sets
// with each token is counted in the same pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/base/memory.hpp"
#include "core/base/mix.hpp"
#include "core/base/probe_table.hpp"
#include "core/join.hpp"

namespace simjoin {

// In how many sets of each side the token of an id is.
class DocumentFrequencies {
 public:
  // A self-join has one side only.
  DocumentFrequencies(bool self_join, MemoryCounter &memory)
      : self_join_(self_join), counts_{Buffer<uint32_t>(memory), Buffer<uint32_t>(memory)} {}

  // Throws Error limit_exceeded.
  [[noreturn]] static void throw_too_many();
  // Adds the next id, with no occurrence yet. Throws that Error at 2^32 - 2 ids.
  uint32_t add_id();
  // Asks for the memory that count() will change.
  void prefetch(Side side, uint32_t id) const { __builtin_prefetch(&counts_[static_cast<int>(side)][id]); }
  void count(Side side, uint32_t id) { ++counts_[static_cast<int>(side)][id]; }
  // Returns the bytes of an id.
  size_t bytes_per_id() const { return sizeof(uint32_t) * (self_join_ ? 1 : 2); }
  // Returns how many ids have been added, also once their frequencies have been taken.
  uint32_t ids() const { return ids_; }
  // Returns the number of sets with a token that is in so many sets of each side, saturated; `unshared` where
  // no two sets (of the two sides, where there are two) can share it.
  static constexpr uint32_t unshared = UINT32_MAX;
  static uint32_t shareable(uint64_t left, uint64_t right, bool self_join) {
    const bool shared = self_join ? left >= 2 : left > 0 && right > 0;
    return shared ? static_cast<uint32_t>(left + right < unshared ? left + right : unshared - 1) : unshared;
  }
  // Returns that for each id. Leaves only the number of ids behind.
  Buffer<uint32_t> take_shareable();

 private:
  const bool self_join_;
  uint32_t ids_ = 0;
  Buffer<uint32_t> counts_[2];  // the right side's stays empty in a self-join
};

// Integer tokens. Small non-negative values, where they are dense enough, index a table directly; all others
// go through an open-addressing hash table.
class IntegerInterner {
 public:
  // Without `direct`, all values go through the hash table, which takes less where they are few.
  IntegerInterner(bool self_join, bool direct, MemoryCounter &memory);

  // Writes the ids of a set's distinct tokens to `ids` (room for tokens.size()) and returns how many.
  template <typename T>
  uint32_t intern(Side side, std::span<const T> tokens, uint32_t *ids);

  DocumentFrequencies &frequencies() { return frequencies_; }
  uint32_t ids() const { return frequencies_.ids(); }

  static constexpr uint32_t no_id = UINT32_MAX;
  // The values of the direct table are its slots: returns their number, and the id of one, or no_id.
  size_t direct_slots() const { return direct_.size(); }
  uint32_t direct_id(size_t slot) const { return direct_[slot].id; }
  // Calls visit(value, id) for each other value, in no order. These are below zero or beyond the direct
  // table.
  template <typename Visit>
  void visit_hashed(Visit &&visit) const {
    table_.for_each([&](const Entry &entry) { visit(entry.value, entry.id); });
  }
  size_t hashed() const { return table_.size(); }
  // Forgets the values that are not in the direct table.
  void release_hashed() { table_.release(); }
  // Returns the bytes that it takes once so many tokens more have come, all new, and at most meanwhile.
  size_t bytes_with(size_t tokens) const;
  // Returns the bytes of the hash table with so many values, at most.
  static size_t table_bytes(size_t values) { return ProbeTable<Entry>::bytes_of(values); }
  // Returns those of the direct table with so many values from `least` to `greatest`, at most.
  static size_t direct_bytes(size_t values, uint64_t least, uint64_t greatest) {
    const size_t most = direct_free + direct_per_token * values;
    return least < most ? std::min(most, greatest + 1) * sizeof(Mark) : 0;
  }
  // Returns the values by id. Nothing else may be asked for then.
  Buffer<int64_t> take_values(MemoryCounter &memory);

 private:
  // The direct table may have this many slots whatever the collection, and this many a distinct token.
  static constexpr size_t direct_free = size_t{1} << 16;
  static constexpr size_t direct_per_token = 4;

  struct Mark {
    uint32_t id;
    uint32_t last_set;  // stamp of the last set with this token
  };
  struct Entry {
    int64_t value;
    uint32_t id;
    uint32_t last_set;

    bool free() const { return id == no_id; }
    uint64_t hash() const { return hash_of(value); }
  };

  // Its upper bits are mixed well enough, and it is had at once.
  static uint64_t hash_of(int64_t value) { return static_cast<uint64_t>(value) * golden_gamma; }
  void next_set();
  template <typename T>
  uint32_t intern_chunk(Side side, const T *tokens, size_t count, uint32_t *ids);
  Entry *insert(Entry *place, int64_t value);
  void extend_direct(size_t size);

  DocumentFrequencies frequencies_;
  const bool may_be_direct_;
  Buffer<Mark> direct_;
  ProbeTable<Entry> table_;
  size_t wanted_ = 0;       // size of the direct table that the last chunk asked for
  uint32_t set_stamp_ = 0;  // of the set being read
};

}  // namespace simjoin
