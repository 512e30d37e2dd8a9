// Hash tables by linear probing: every entry is found, and no addition moves many other entries.
#include "core/base/probe_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

namespace simjoin::test {
namespace {

uint64_t mixed(uint64_t key) {
  key = (key ^ key >> 31) * 0x9E3779B97F4A7C15u;
  return (key ^ key >> 29) * 0xBF58476D1CE4E5B9u;
}

// Keys with their hashes, and the number of requests for a hash.
struct Entry {
  uint64_t key;
  uint64_t key_hash;
  uint32_t value;

  static inline size_t hashes_read = 0;
  static constexpr Entry none() { return {0, 0, UINT32_MAX}; }

  bool free() const { return value == UINT32_MAX; }
  uint64_t hash() const { return ++hashes_read, key_hash; }
};

Entry *find(ProbeTable<Entry> &table, uint64_t key, uint64_t hash) {
  return table.find(hash, [key](const Entry &entry) { return entry.key == key; });
}

// Adds the key unless it exists.
void add(ProbeTable<Entry> &table, const Entry &entry) {
  Entry *const place = find(table, entry.key, entry.key_hash);
  if (!place->free()) return;
  EXPECT_EQ(table.add(place, entry)->key, entry.key);
}

TEST(Probe, GoesRound) {
  const std::vector<int> places = {1, 0, 1, 1, 1};
  const auto is_free = [&](size_t place) { return places[place] == 0; };
  for (size_t home = 0; home < places.size(); ++home) EXPECT_EQ(probe(home, places.size(), is_free), 1u);
  EXPECT_EQ(probe(0, 1, [](size_t) { return true; }), 0u);
}

// The hashes are good, few, in one part of the table, or in ascending order.
RC_GTEST_PROP(ProbeTable, HasWhatWasAdded, ()) {
  const int kind = *rc::gen::inRange(0, 4);
  const auto hash_of = [kind](uint64_t key) {
    switch (kind) {
      case 0:
        return mixed(key);
      case 1:
        return mixed(key % 3);
      case 2:
        return mixed(key) >> 7;
      default:
        return key << 50;
    }
  };
  MemoryCounter memory;
  ProbeTable<Entry> table(memory, Entry::none());
  std::map<uint64_t, uint32_t> expected;
  const auto check = [&] {
    RC_ASSERT(table.size() == expected.size());
    for (uint64_t key = 0; key < 3000; ++key) {
      const Entry &entry = *find(table, key, hash_of(key));
      const auto known = expected.find(key);
      RC_ASSERT(entry.free() == (known == expected.end()));
      if (!entry.free()) RC_ASSERT(entry.value == known->second);
    }
    std::map<uint64_t, uint32_t> visited;
    table.for_each([&](const Entry &entry) { visited.emplace(entry.key, entry.value); });
    RC_ASSERT(visited == expected);
  };
  uint32_t value = 0;
  for (const size_t count : *rc::gen::container<std::vector<size_t>>(3, rc::gen::inRange<size_t>(0, 2500))) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t key = mixed(value) % 3000;
      add(table, {key, hash_of(key), value});
      expected.emplace(key, value++);
    }
    check();
    const uint64_t modulus = *rc::gen::inRange<uint64_t>(1, 4);
    table.remove_if([&](const Entry &entry) { return entry.key % modulus == 0; });
    std::erase_if(expected, [&](const auto &entry) { return entry.first % modulus == 0; });
    check();
  }
  table.clear();
  expected.clear();
  check();
}

TEST(ProbeTable, AnAdditionMovesFewEntries) {
  MemoryCounter memory;
  ProbeTable<Entry> table(memory, Entry::none());
  for (uint32_t value = 0; value < 1'000'000; ++value) {
    const size_t before = Entry::hashes_read;
    add(table, {value, mixed(value), value});
    ASSERT_LE(Entry::hashes_read - before, 50 + table.size() / 100);
  }
}

TEST(ProbeTable, TakesTheMemoryThatItTells) {
  MemoryCounter memory;
  ProbeTable<Entry> table(memory, Entry::none());
  for (uint32_t value = 0; value < 300'000; ++value) {
    add(table, {value, mixed(value), value});
    // With few entries, chance puts many into some parts.
    if (value < 50'000 || value % 1000 != 0) continue;
    ASSERT_LE(memory.current(), ProbeTable<Entry>::bytes_of(value + value / 6));
  }
  table.remove_if([](const Entry &) { return true; });
  EXPECT_EQ(memory.current(), ProbeTable<Entry>::bytes_of(0) * 2 / 3);
  table.release();
  EXPECT_EQ(memory.current(), 0u);
}

}  // namespace
}  // namespace simjoin::test
