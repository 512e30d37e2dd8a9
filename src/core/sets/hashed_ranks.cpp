#include "core/sets/hashed_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "core/base/mix.hpp"
#include "core/base/number_parts.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/sets/count_table.hpp"
#include "core/sets/interner.hpp"
#include "core/sets/repeated_numbers.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {
namespace {

// Entries or keys between looks at the stop flag.
constexpr size_t keys_per_look = size_t{1} << 14;
// Numbers whose entries are asked for ahead of their turn, and those whose bits in a filter are.
constexpr size_t numbers_ahead = 16, bits_ahead = 32;
// Numbers that are looked at together, before those of them that may be shared are looked up.
constexpr size_t numbers_together = 512;

// Each worker counts the numbers of one part, in all sets.
template <typename Number, int sides>
class HashedRanks {
 public:
  HashedRanks(RawSets *const *raw, RankOrder order, SpillFile *file, WorkerPool &pool, MemoryCounter &memory)
      : raw_(raw), order_(order), file_(file), pool_(pool), memory_(memory) {
    for (int side = 0; side < sides; ++side) tokens_ += raw_[side]->tokens() / ids_per_number;
    parts_ = worthwhile_parts(tokens_, pool.workers());
  }

  // As rank_hashed(); once.
  Ranking rank(uint64_t distinct);

 private:
  using Entry = typename CountTable<Number, sides>::Entry;
  static constexpr size_t ids_per_number = std::numeric_limits<Number>::digits / 32;

  template <typename Visit>
  void visit_own(uint32_t part, Visit &&visit);
  void note(uint32_t part);
  void count(uint32_t part);
  void filter(RawSets &raw);
  size_t drop_unshared(Number *numbers, size_t count) const;
  size_t mark_shareable(CountTable<Number, sides> &table);
  void add_keys(uint32_t part, SortKey *to);
  Entry &entry_of(const SortKey &key);
  void order_ties(Buffer<SortKey> &keys);
  void rank_as_they_are(uint32_t part, uint32_t first);
  uint32_t place_ranks();
  void look_up(const Number *numbers, size_t count, uint32_t *ids) const;
  void look_up_some(const Number *numbers, size_t count, uint32_t *ids) const;
  void replace(RawSets &raw);

  RawSets *const *const raw_;
  const RankOrder order_;
  SpillFile *const file_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  uint64_t tokens_ = 0;
  uint32_t parts_;
  std::vector<CountTable<Number, sides>> tables_;
  // Where most numbers come once: filters, by part, until the blocks have `unshared_` in place of most of
  // these. It is a number that itself comes once at most.
  std::vector<RepeatedNumbers> filters_;
  bool filtered_ = false;
  Number unshared_ = 0;
  std::atomic<uint64_t> once_ = 0;  // numbers in whose place it is
};

template <typename Number, int sides>
Ranking HashedRanks<Number, sides>::rank(uint64_t distinct) {
  distinct = std::min(tokens_, distinct);
  size_t blocks = 0;
  for (int side = 0; side < sides; ++side) blocks += raw_[side]->blocks.size();
  filtered_ = pays_to_filter(tokens_, distinct);
  if (filtered_) {
    for (uint32_t part = 0; part < parts_; ++part) filters_.emplace_back(memory_);
    pool_.parallel_in_steps(parts_, parts_ * blocks,
                            [&](int, size_t part) { note(static_cast<uint32_t>(part)); });
    const auto is_repeated = [&](Number number) {
      const NumberPart place(number, parts_);
      return filters_[place.part].repeated(place.hash);
    };
    while (is_repeated(unshared_)) ++unshared_;
    for (int side = 0; side < sides; ++side) filter(*raw_[side]);
    filters_.clear();
    distinct = counted_if_filtered(tokens_, distinct);
  }
  for (uint32_t part = 0; part < parts_; ++part) tables_.emplace_back(parts_, memory_);
  pool_.parallel_in_steps(parts_, parts_ * blocks, [&](int, size_t part) {
    tables_[part].reserve(distinct / parts_);
    count(static_cast<uint32_t>(part));
  });
  Ranking ranking(memory_);
  ranking.distinct = static_cast<uint32_t>(once_);
  for (const CountTable<Number, sides> &table : tables_)
    ranking.distinct += static_cast<uint32_t>(table.used());
  ranking.ranks = place_ranks();
  for (int side = 0; side < sides; ++side) replace(*raw_[side]);
  return ranking;
}

// Calls visit(side, numbers, count) for the numbers of the part in all sets.
template <typename Number, int sides>
template <typename Visit>
void HashedRanks<Number, sides>::visit_own(uint32_t part, Visit &&visit) {
  const bool drop = filtered_ && filters_.empty();
  const auto part_of = [&](Number number) {
    return drop && number == unshared_ ? parts_ : NumberPart(number, parts_).part;
  };
  for (int side = 0; side < sides; ++side) {
    for (const RawBlock &block : raw_[side]->blocks) {
      raw_[side]->visit(block, file_, pool_.stop(), [&](const uint32_t *ids, size_t count) {
        visit_part(reinterpret_cast<const Number *>(ids), count / ids_per_number, part, part_of,
                   [&](const Number *own, size_t found) { visit(side, own, found); });
      });
      pool_.step();
    }
  }
}

// Notes the numbers of the part in its filter.
template <typename Number, int sides>
void HashedRanks<Number, sides>::note(uint32_t part) {
  RepeatedNumbers &filter = filters_[part];
  filter.make_room(tokens_ / parts_);
  const auto hash_of = [&](Number number) { return NumberPart(number, parts_).hash; };
  visit_own(part, [&](int, const Number *own, size_t found) {
    for (size_t i = 0; i < found; ++i) {
      if (i + bits_ahead < found) filter.prefetch(hash_of(own[i + bits_ahead]));
      filter.note(hash_of(own[i]));
    }
  });
}

// Puts unshared_ in the place of numbers that come once.
template <typename Number, int sides>
void HashedRanks<Number, sides>::filter(RawSets &raw) {
  raw.change(0, raw.blocks.size(), file_, pool_, [&](uint32_t *ids, size_t count) {
    once_ += drop_unshared(reinterpret_cast<Number *>(ids), count / ids_per_number);
  });
}

// Does so with some numbers. Returns how many come once.
template <typename Number, int sides>
size_t HashedRanks<Number, sides>::drop_unshared(Number *numbers, size_t count) const {
  size_t repeated = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i + bits_ahead < count) {
      const NumberPart ahead(numbers[i + bits_ahead], parts_);
      filters_[ahead.part].prefetch(ahead.hash);
    }
    const NumberPart place(numbers[i], parts_);
    const bool keep = filters_[place.part].repeated(place.hash);
    numbers[i] = keep ? numbers[i] : unshared_;
    repeated += keep;
  }
  return count - repeated;
}

// Counts the numbers of the part.
template <typename Number, int sides>
void HashedRanks<Number, sides>::count(uint32_t part) {
  CountTable<Number, sides> &table = tables_[part];
  visit_own(part, [&](int side, const Number *own, size_t found) {
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

// Gives the part's numbers ranks from `first` on, in the order of its table.
template <typename Number, int sides>
void HashedRanks<Number, sides>::rank_as_they_are(uint32_t part, uint32_t first) {
  Buffer<Entry> &entries = tables_[part].entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % keys_per_look == 0) pool_.stop().check();
    if (entries[i].counts[0] != Ranking::none) entries[i].counts[0] = first++;
  }
}

// Puts a rank, or none, into the place of each number's first count. Returns how many ranks there are.
template <typename Number, int sides>
uint32_t HashedRanks<Number, sides>::place_ranks() {
  std::vector<size_t> starts(parts_ + 1, 0);
  pool_.parallel(parts_, [&](int, size_t part) { starts[part + 1] = mark_shareable(tables_[part]); });
  for (uint32_t part = 0; part < parts_; ++part) starts[part + 1] += starts[part];
  if (order_ == RankOrder::any) {
    pool_.parallel(parts_, [&](int, size_t part) {
      rank_as_they_are(static_cast<uint32_t>(part), static_cast<uint32_t>(starts[part]));
    });
    return static_cast<uint32_t>(starts.back());
  }
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

// Gives the ranks of the numbers, whose place they may take.
template <typename Number, int sides>
void HashedRanks<Number, sides>::look_up(const Number *numbers, size_t count, uint32_t *ids) const {
  for (size_t i = 0; i < count; ++i) {
    if (i + numbers_ahead < count) {
      const Number ahead = numbers[i + numbers_ahead];
      tables_[NumberPart(ahead, parts_).part].prefetch(ahead);
    }
    ids[i] = tables_[NumberPart(numbers[i], parts_).part].rank(numbers[i]);
  }
}

// The same where unshared_, which has no rank, may be among the numbers.
template <typename Number, int sides>
void HashedRanks<Number, sides>::look_up_some(const Number *numbers, size_t count, uint32_t *ids) const {
  Number picked[numbers_together];
  uint32_t places[numbers_together], ranks[numbers_together];
  for (size_t begin = 0; begin < count; begin += numbers_together) {
    const size_t end = std::min(count, begin + numbers_together);
    size_t found = 0;
    for (size_t i = begin; i < end; ++i) {
      picked[found] = numbers[i];
      places[found] = static_cast<uint32_t>(i);
      found += numbers[i] != unshared_;
    }
    look_up(picked, found, ranks);
    std::fill(ids + begin, ids + end, Ranking::none);
    for (size_t i = 0; i < found; ++i) ids[places[i]] = ranks[i];
  }
}

// Replaces the numbers of all blocks by their ranks.
template <typename Number, int sides>
void HashedRanks<Number, sides>::replace(RawSets &raw) {
  const auto ranks_of = [&](const Number *numbers, size_t count, uint32_t *ids) {
    filtered_ ? look_up_some(numbers, count, ids) : look_up(numbers, count, ids);
  };
  if constexpr (ids_per_number > 1) {
    raw.narrow(pool_, ranks_of);
  } else {
    raw.change(0, raw.blocks.size(), file_, pool_,
               [&](uint32_t *ids, size_t count) { ranks_of(ids, count, ids); });
  }
}

}  // namespace

template <typename Number>
Ranking rank_hashed(const std::vector<RawSets *> &sides, RankOrder order, SpillFile *file, uint64_t distinct,
                    WorkerPool &pool, MemoryCounter &memory) {
  if (sides.size() == 1)
    return HashedRanks<Number, 1>(sides.data(), order, file, pool, memory).rank(distinct);
  return HashedRanks<Number, 2>(sides.data(), order, file, pool, memory).rank(distinct);
}

template Ranking rank_hashed<uint32_t>(const std::vector<RawSets *> &, RankOrder, SpillFile *, uint64_t,
                                       WorkerPool &, MemoryCounter &);
template Ranking rank_hashed<uint64_t>(const std::vector<RawSets *> &, RankOrder, SpillFile *, uint64_t,
                                       WorkerPool &, MemoryCounter &);

}  // namespace simjoin
