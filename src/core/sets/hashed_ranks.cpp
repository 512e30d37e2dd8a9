#include "core/sets/hashed_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/base/mix.hpp"
#include "core/base/number_parts.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/base/probe_table.hpp"
#include "core/sets/interner.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {
namespace {

// Entries or keys between looks at the stop flag.
constexpr size_t keys_per_look = size_t{1} << 14;
// Entries of a table for each number that it is expected to have: the estimate is a few per cent off. In a
// table that stays in the cache, to find the entry at the first look matters most.
constexpr double room = 1.6, room_of_small = 4;
constexpr size_t least_entries = 64;
// Numbers whose entries are asked for ahead of their turn.
constexpr size_t numbers_ahead = 16;

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

// Each worker counts the numbers of one part, in all sets.
template <typename Number, int sides>
class HashedRanks {
 public:
  HashedRanks(RawSets *const *raw, SpillFile *file, WorkerPool &pool, MemoryCounter &memory)
      : raw_(raw), file_(file), pool_(pool), memory_(memory) {
    for (int side = 0; side < sides; ++side) tokens_ += raw_[side]->tokens() / ids_per_number;
    parts_ = worthwhile_parts(tokens_, pool.workers());
  }

  // As rank_hashed(); once.
  Ranking rank(uint64_t distinct);

 private:
  using Entry = typename CountTable<Number, sides>::Entry;
  static constexpr size_t ids_per_number = sizeof(Number) / sizeof(uint32_t);

  void count(uint32_t part);
  void count_own(int side, const Number *numbers, size_t count, uint32_t part);
  size_t mark_shareable(CountTable<Number, sides> &table);
  void add_keys(uint32_t part, SortKey *to);
  Entry &entry_of(const SortKey &key);
  void order_ties(Buffer<SortKey> &keys);
  uint32_t place_ranks();
  void replace(RawSets &raw);

  RawSets *const *const raw_;
  SpillFile *const file_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  uint64_t tokens_ = 0;
  uint32_t parts_;
  std::vector<CountTable<Number, sides>> tables_;
};

template <typename Number, int sides>
Ranking HashedRanks<Number, sides>::rank(uint64_t distinct) {
  for (uint32_t part = 0; part < parts_; ++part) tables_.emplace_back(parts_, memory_);
  size_t blocks = 0;
  for (int side = 0; side < sides; ++side) blocks += raw_[side]->blocks.size();
  pool_.parallel_in_steps(parts_, parts_ * blocks, [&](int, size_t part) {
    tables_[part].reserve(std::min(tokens_, distinct) / parts_);
    count(static_cast<uint32_t>(part));
  });
  Ranking ranking(memory_);
  for (const CountTable<Number, sides> &table : tables_)
    ranking.distinct += static_cast<uint32_t>(table.used());
  ranking.ranks = place_ranks();
  for (int side = 0; side < sides; ++side) replace(*raw_[side]);
  return ranking;
}

template <typename Number, int sides>
void HashedRanks<Number, sides>::count(uint32_t part) {
  for (int side = 0; side < sides; ++side) {
    for (const RawBlock &block : raw_[side]->blocks) {
      raw_[side]->visit(block, file_, pool_.stop(), [&](const uint32_t *ids, size_t count) {
        count_own(side, reinterpret_cast<const Number *>(ids), count / ids_per_number, part);
      });
      pool_.step();
    }
  }
}

// Counts those of the numbers that are of the part.
template <typename Number, int sides>
void HashedRanks<Number, sides>::count_own(int side, const Number *numbers, size_t count, uint32_t part) {
  CountTable<Number, sides> &table = tables_[part];
  const auto part_of = [&](Number number) { return NumberPart(number, parts_).part; };
  visit_part(numbers, count, part, part_of, [&](const Number *own, size_t found) {
    table.reserve(found);
    for (size_t i = 0; i < found; ++i) {
      if (i + numbers_ahead < found) table.prefetch(own[i + numbers_ahead]);
      table.count(side, own[i]);
    }
  });
}

// Leaves in the place of each number's first count in how many sets it is, or Ranking::none where no pair can
// share it. Returns how many can be shared.
template <typename Number, int sides>
size_t HashedRanks<Number, sides>::mark_shareable(CountTable<Number, sides> &table) {
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

// A key is (frequency: 32 bits, number or a hash of it: 32 bits, part: 24 bits, entry: 40 bits).
constexpr int entry_bits = 40;

uint32_t number_in_key(uint32_t number) {
  return number;
}

uint32_t number_in_key(uint64_t number) {
  return static_cast<uint32_t>(mix64(number) >> 32);
}

template <typename Number, int sides>
typename HashedRanks<Number, sides>::Entry &HashedRanks<Number, sides>::entry_of(const SortKey &key) {
  const uint64_t entry = key.lo & ((uint64_t{1} << entry_bits) - 1);
  return tables_[key.lo >> entry_bits].entries()[entry];
}

template <typename Number, int sides>
void HashedRanks<Number, sides>::add_keys(uint32_t part, SortKey *to) {
  const Buffer<Entry> &entries = tables_[part].entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % keys_per_look == 0) pool_.stop().check();
    if (entries[i].counts[0] == Ranking::none) continue;
    to->hi = uint64_t{entries[i].counts[0]} << 32 | number_in_key(entries[i].number);
    to->lo = uint64_t{part} << entry_bits | i;
    ++to;
  }
}

// Puts numbers that agree in frequency and hash, of which there are few, into their order.
template <typename Number, int sides>
void HashedRanks<Number, sides>::order_ties(Buffer<SortKey> &keys) {
  const StopFlag &stop = pool_.stop();
  for (size_t begin = 0, end; begin < keys.size(); begin = end) {
    stop.check_at(begin);
    for (end = begin + 1; end < keys.size() && keys[begin].hi == keys[end].hi;) ++end;
    if (end - begin < 2) continue;
    std::sort(keys.begin() + begin, keys.begin() + end,
              stoppable(stop, [&](const SortKey &a, const SortKey &b) {
                return entry_of(a).number < entry_of(b).number;
              }));
  }
}

// Puts a rank, or none, into the place of each number's first count. Returns how many ranks there are.
template <typename Number, int sides>
uint32_t HashedRanks<Number, sides>::place_ranks() {
  std::vector<size_t> starts(parts_ + 1, 0);
  pool_.parallel(parts_, [&](int, size_t part) { starts[part + 1] = mark_shareable(tables_[part]); });
  for (uint32_t part = 0; part < parts_; ++part) starts[part + 1] += starts[part];
  Buffer<SortKey> keys(memory_, starts.back());
  pool_.parallel(
      parts_, [&](int, size_t part) { add_keys(static_cast<uint32_t>(part), keys.data() + starts[part]); });
  sort_keys(keys, pool_, memory_);
  if constexpr (ids_per_number > 1) order_ties(keys);
  const auto rank_of = [&](size_t i) -> uint32_t & { return entry_of(keys[i]).counts[0]; };
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
template <typename Number, int sides>
void HashedRanks<Number, sides>::replace(RawSets &raw) {
  const auto look_up = [&](const Number *numbers, size_t count, uint32_t *ids) {
    for (size_t i = 0; i < count; ++i) {
      if (i + numbers_ahead < count) {
        const Number ahead = numbers[i + numbers_ahead];
        tables_[NumberPart(ahead, parts_).part].prefetch(ahead);
      }
      ids[i] = tables_[NumberPart(numbers[i], parts_).part].rank(numbers[i]);
    }
  };
  if constexpr (ids_per_number > 1) {
    raw.narrow(pool_, look_up);
  } else {
    raw.change(0, raw.blocks.size(), file_, pool_,
               [&](uint32_t *ids, size_t count) { look_up(ids, count, ids); });
  }
}

}  // namespace

template <typename Number>
Ranking rank_hashed(const std::vector<RawSets *> &sides, SpillFile *file, uint64_t distinct, WorkerPool &pool,
                    MemoryCounter &memory) {
  if (sides.size() == 1) return HashedRanks<Number, 1>(sides.data(), file, pool, memory).rank(distinct);
  return HashedRanks<Number, 2>(sides.data(), file, pool, memory).rank(distinct);
}

template Ranking rank_hashed<uint32_t>(const std::vector<RawSets *> &, SpillFile *, uint64_t, WorkerPool &,
                                       MemoryCounter &);
template Ranking rank_hashed<uint64_t>(const std::vector<RawSets *> &, SpillFile *, uint64_t, WorkerPool &,
                                       MemoryCounter &);

}  // namespace simjoin
