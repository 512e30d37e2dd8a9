#include "core/sets/hashed_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/base/number_parts.hpp"
#include "core/base/parallel_sort.hpp"
#include "core/base/probe_table.hpp"
#include "core/sets/interner.hpp"

namespace simjoin {
namespace {

// Entries or keys between looks at the stop flag.
constexpr size_t keys_per_look = size_t{1} << 14;
// Entries of a table for each number that it is expected to have: the estimate is a few per cent off.
constexpr double room = 1.6;
constexpr size_t least_entries = 64;
// Numbers whose entries are asked for ahead of their turn.
constexpr size_t numbers_ahead = 16;

// The numbers of one part, by open addressing: how often each is on a side, or its rank. No number is
// removed, so that no free entry comes between a number and the entry that its hash tells. On lines of its
// own, since each worker counts in one.
template <int sides>
class alignas(64) CountTable {
 public:
  struct Entry {
    uint32_t number;
    uint32_t counts[sides];  // none, while the entry is free; the rank then takes the first one's place
  };

  CountTable(uint32_t parts, MemoryCounter &memory) : parts_(parts), entries_(memory) {}

  // Makes room for so many more numbers, those that are there already included.
  void reserve(size_t more);
  void prefetch(uint32_t number) const { __builtin_prefetch(&entries_[home(number)]); }
  void count(int side, uint32_t number) {
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
  uint32_t rank(uint32_t number) const {
    const size_t place =
        probe(home(number), entries_.size(), [&](size_t at) { return entries_[at].number == number; });
    return entries_[place].counts[0];
  }

 private:
  static bool free(const Entry &entry) { return entry.counts[0] == 0 && entry.counts[sides - 1] == 0; }
  size_t home(uint32_t number) const { return NumberPart(number, parts_).hash * entries_.size() >> 32; }
  // Returns the entry of the number, or the one that it will have.
  Entry &place_of(uint32_t number) {
    return entries_[probe(home(number), entries_.size(),
                          [&](size_t at) { return entries_[at].number == number || free(entries_[at]); })];
  }

  const uint32_t parts_;
  size_t used_ = 0;
  Buffer<Entry> entries_;
};

template <int sides>
void CountTable<sides>::reserve(size_t more) {
  // Past three quarters, linear probing starts to walk.
  if ((used_ + more) * 4 <= entries_.size() * 3) return;
  const Buffer<Entry> old = std::move(entries_);
  const auto wanted = static_cast<size_t>(room * static_cast<double>(used_ + more));
  entries_.resize(std::max(wanted + least_entries, 2 * old.size()), Entry{});
  for (const Entry &entry : old) {
    if (!free(entry)) place_of(entry.number) = entry;
  }
}

// Each worker counts the numbers of one part, in all sets.
template <int sides>
class HashedRanks {
 public:
  HashedRanks(RawSets *const *raw, SpillFile *file, WorkerPool &pool, MemoryCounter &memory)
      : raw_(raw), file_(file), pool_(pool), memory_(memory) {
    for (int side = 0; side < sides; ++side) tokens_ += raw_[side]->tokens();
    parts_ = worthwhile_parts(tokens_, pool.workers());
  }

  // As rank_hashed(); once.
  Ranking rank(uint64_t distinct);

 private:
  using Entry = typename CountTable<sides>::Entry;

  void count(uint32_t part);
  void count_own(int side, const uint32_t *numbers, size_t count, uint32_t part);
  size_t mark_shareable(CountTable<sides> &table);
  void add_keys(uint32_t part, SortKey *to);
  uint32_t place_ranks();
  void replace(RawSets &raw);

  RawSets *const *const raw_;
  SpillFile *const file_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  uint64_t tokens_ = 0;
  uint32_t parts_;
  std::vector<CountTable<sides>> tables_;
};

template <int sides>
Ranking HashedRanks<sides>::rank(uint64_t distinct) {
  for (uint32_t part = 0; part < parts_; ++part) tables_.emplace_back(parts_, memory_);
  pool_.parallel(parts_, [&](int, size_t part) {
    tables_[part].reserve(std::min(tokens_, distinct) / parts_);
    count(static_cast<uint32_t>(part));
  });
  Ranking ranking(memory_);
  for (const CountTable<sides> &table : tables_) ranking.distinct += static_cast<uint32_t>(table.used());
  ranking.ranks = place_ranks();
  for (int side = 0; side < sides; ++side) replace(*raw_[side]);
  return ranking;
}

template <int sides>
void HashedRanks<sides>::count(uint32_t part) {
  for (int side = 0; side < sides; ++side) {
    for (const RawBlock &block : raw_[side]->blocks) {
      raw_[side]->visit(block, file_, pool_.stop(), [&](const uint32_t *numbers, size_t count) {
        count_own(side, numbers, count, part);
      });
    }
  }
}

// Counts those of the numbers that are of the part.
template <int sides>
void HashedRanks<sides>::count_own(int side, const uint32_t *numbers, size_t count, uint32_t part) {
  CountTable<sides> &table = tables_[part];
  const auto part_of = [&](uint32_t number) { return NumberPart(number, parts_).part; };
  visit_part(numbers, count, part, part_of, [&](const uint32_t *own, size_t found) {
    table.reserve(found);
    for (size_t i = 0; i < found; ++i) {
      if (i + numbers_ahead < found) table.prefetch(own[i + numbers_ahead]);
      table.count(side, own[i]);
    }
  });
}

// Leaves in the place of each number's first count in how many sets it is, or Ranking::none where no pair can
// share it. Returns how many can be shared.
template <int sides>
size_t HashedRanks<sides>::mark_shareable(CountTable<sides> &table) {
  Buffer<Entry> &entries = table.entries();
  size_t shareable = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % keys_per_look == 0) pool_.stop().check();
    Entry &entry = entries[i];
    const uint32_t right = sides > 1 ? entry.counts[sides - 1] : 0;
    entry.counts[0] = DocumentFrequencies::shareable(entry.counts[0], right, sides == 1);
    shareable += entry.counts[0] != Ranking::none;
  }
  return shareable;
}

// A key is (frequency: 32 bits, number: 32 bits, part: 24 bits, entry: 40 bits).
constexpr int entry_bits = 40;

template <int sides>
void HashedRanks<sides>::add_keys(uint32_t part, SortKey *to) {
  const Buffer<Entry> &entries = tables_[part].entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % keys_per_look == 0) pool_.stop().check();
    if (entries[i].counts[0] == Ranking::none) continue;
    to->hi = uint64_t{entries[i].counts[0]} << 32 | entries[i].number;
    to->lo = uint64_t{part} << entry_bits | i;
    ++to;
  }
}

// Puts a rank, or none, into the place of each number's first count. Returns how many ranks there are.
template <int sides>
uint32_t HashedRanks<sides>::place_ranks() {
  std::vector<size_t> starts(parts_ + 1, 0);
  pool_.parallel(parts_, [&](int, size_t part) { starts[part + 1] = mark_shareable(tables_[part]); });
  for (uint32_t part = 0; part < parts_; ++part) starts[part + 1] += starts[part];
  Buffer<SortKey> keys(memory_, starts.back());
  pool_.parallel(
      parts_, [&](int, size_t part) { add_keys(static_cast<uint32_t>(part), keys.data() + starts[part]); });
  sort_keys(keys, pool_, memory_);
  const auto rank_of = [&](size_t i) -> uint32_t & {
    const uint64_t entry = keys[i].lo & ((uint64_t{1} << entry_bits) - 1);
    return tables_[keys[i].lo >> entry_bits].entries()[entry].counts[0];
  };
  pool_.parallel((keys.size() + keys_per_look - 1) / keys_per_look, [&](int, size_t number) {
    pool_.stop().check();
    const size_t end = std::min(keys.size(), (number + 1) * keys_per_look);
    for (size_t i = number * keys_per_look; i < end; ++i) {
      if (i + numbers_ahead < end) __builtin_prefetch(&rank_of(i + numbers_ahead));
      rank_of(i) = static_cast<uint32_t>(i);
    }
  });
  return static_cast<uint32_t>(keys.size());
}

// Replaces the numbers of all blocks by their ranks.
template <int sides>
void HashedRanks<sides>::replace(RawSets &raw) {
  raw.change(0, raw.blocks.size(), file_, pool_, [&](uint32_t *ids, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (i + numbers_ahead < count) {
        const uint32_t ahead = ids[i + numbers_ahead];
        tables_[NumberPart(ahead, parts_).part].prefetch(ahead);
      }
      ids[i] = tables_[NumberPart(ids[i], parts_).part].rank(ids[i]);
    }
  });
}

}  // namespace

Ranking rank_hashed(const std::vector<RawSets *> &sides, SpillFile *file, uint64_t distinct, WorkerPool &pool,
                    MemoryCounter &memory) {
  if (sides.size() == 1) return HashedRanks<1>(sides.data(), file, pool, memory).rank(distinct);
  return HashedRanks<2>(sides.data(), file, pool, memory).rank(distinct);
}

}  // namespace simjoin
