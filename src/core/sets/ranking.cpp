#include "core/sets/ranking.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "core/base/parallel_ranges.hpp"
#include "core/sort/distribute.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

static_assert(Ranking::none == DocumentFrequencies::unshared);  // so that these entries stay as they are

namespace {

// Frequencies below this one are counted in a table that stays in the first-level cache. Tokens of higher
// frequencies are so few that they are sorted.
constexpr uint32_t counted_frequencies = 1u << 13;
// Frequencies are prefetched this many tokens ahead.
constexpr size_t prefetch_distance = 16;

// The workers share ids and keys out by ranges of this many.
constexpr size_t ids_per_range = size_t{1} << 16;

struct Frequent {
  uint32_t frequency;
  uint32_t id;
};

// Gives the tokens that are too frequent for the table the ranks after all others. `tokens` are in the order
// of their values.
void rank_frequent(std::vector<Frequent> &tokens, Ranking &ranking) {
  const auto rarer = [](const Frequent &a, const Frequent &b) { return a.frequency < b.frequency; };
  std::stable_sort(tokens.begin(), tokens.end(), rarer);
  for (const Frequent &token : tokens) ranking.rank_of[token.id] = ranking.ranks++;
}

// Counting sort by frequency, in the place of the frequencies. Tokens come in the order of their values, and
// tokens of equal frequency keep it.
class FrequencySort {
 public:
  FrequencySort(Buffer<uint32_t> frequencies, const StopFlag &stop, MemoryCounter &memory)
      : stop_(stop), rank_of_(std::move(frequencies)), next_(memory, counted_frequencies, 0) {
    for (size_t id = 0; id < rank_of_.size(); ++id) {
      stop_.check_at(id);
      shareable_ += rank_of_[id] != Ranking::none;
      if (rank_of_[id] < counted_frequencies) ++next_[rank_of_[id]];
    }
    for (uint32_t &start : next_) ranked_ += std::exchange(start, ranked_);
  }

  bool shareable(uint32_t id) const { return rank_of_[id] != Ranking::none; }
  uint32_t shareable_tokens() const { return shareable_; }
  void prefetch(uint32_t id) const { __builtin_prefetch(rank_of_.data() + id); }
  // Takes the token with the next value. Tokens that cannot be shared need not be added.
  void add(uint32_t id) {
    stop_.check_at(added_++);
    const uint32_t frequency = rank_of_[id];
    if (frequency < counted_frequencies) {
      rank_of_[id] = next_[frequency]++;
    } else if (frequency != Ranking::none) {
      frequent_.push_back({frequency, id});
    }
  }
  // Returns the ranks, once every token has been added.
  Ranking take(MemoryCounter &memory) {
    Ranking ranking(memory);
    ranking.rank_of = std::move(rank_of_);
    ranking.ranks = ranked_;
    rank_frequent(frequent_, ranking);
    return ranking;
  }

 private:
  const StopFlag &stop_;
  Buffer<uint32_t> rank_of_;  // by id: the token's frequency, then its rank
  Buffer<uint32_t> next_;     // by frequency: the rank of the next token
  uint32_t ranked_ = 0;
  uint32_t shareable_ = 0;
  size_t added_ = 0;
  std::vector<Frequent> frequent_;
};

// Returns the key (frequency: 32 bits, value: 64 bits, id: 32 bits).
SortKey rank_key(uint32_t frequency, uint64_t value, uint32_t id) {
  SortKey key;
  key.hi = uint64_t{frequency} << 32 | value >> 32;
  key.lo = value << 32 | id;
  return key;
}

uint32_t id_of(const SortKey &key) {
  return static_cast<uint32_t>(key.lo);
}

// An integer with its sign bit flipped compares, as an unsigned number, as the integer does.
constexpr uint64_t sign_bit = uint64_t{1} << 63;

// Returns keys of the texts that can be shared, in no order.
Buffer<SortKey> keys_of_texts(const Buffer<uint32_t> &frequencies, const TextNumbers &texts, WorkerPool &pool,
                              MemoryCounter &memory) {
  constexpr size_t together = 256;
  std::atomic<size_t> shareable = 0, placed = 0;
  for_ranges(pool, frequencies.size(), ids_per_range, [&](size_t begin, size_t end) {
    const auto unshared = std::count(frequencies.begin() + begin, frequencies.begin() + end, Ranking::none);
    shareable += end - begin - static_cast<size_t>(unshared);
  });
  Buffer<SortKey> keys(memory, shareable);
  pool.parallel(TextNumbers::parts, [&](int, size_t part) {
    SortKey found[together];
    size_t count = 0;
    const auto hand_over = [&] {
      pool.stop().check();
      std::copy_n(found, count, keys.begin() + placed.fetch_add(count));
      count = 0;
    };
    texts.visit_part(part, [&](uint64_t key, uint32_t number) {
      if (frequencies[number] == Ranking::none) return;
      found[count++] = rank_key(frequencies[number], key, number);
      if (count == together) hand_over();
    });
    hand_over();
  });
  return keys;
}

// Puts long texts that agree in frequency and key, of which there are hardly any, into the order of their
// bytes.
void order_colliding_texts(Buffer<SortKey> &keys, const TextNumbers &texts, const StopFlag &stop) {
  const auto same = [](const SortKey &a, const SortKey &b) {
    return a.hi == b.hi && a.lo >> 32 == b.lo >> 32;
  };
  for (size_t begin = 0, end; begin < keys.size(); begin = end) {
    stop.check_at(begin);
    for (end = begin + 1; end < keys.size() && same(keys[begin], keys[end]);) ++end;
    if (end - begin < 2) continue;
    std::sort(keys.begin() + begin, keys.begin() + end,
              stoppable(stop, [&](const SortKey &a, const SortKey &b) {
                return texts.text(id_of(a)) < texts.text(id_of(b));
              }));
  }
}

// Adds the tokens of the keys [begin, end).
void add_keys(FrequencySort &sort, const Buffer<SortKey> &keys, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (i + prefetch_distance < end) sort.prefetch(id_of(keys[i + prefetch_distance]));
    sort.add(id_of(keys[i]));
  }
}

// Returns whether each id is as frequent as the one before or more. Ids that cannot be shared are the rarest.
bool ascend(const Buffer<uint32_t> &frequencies, WorkerPool &pool) {
  static_assert(Ranking::none + 1 == 0);
  std::atomic<bool> all = true;
  for_ranges(pool, frequencies.size(), ids_per_range, [&](size_t begin, size_t end) {
    if (!all) return;
    bool here = true;
    for (size_t id = std::max<size_t>(begin, 1); id < end; ++id) {
      here &= frequencies[id - 1] + 1 <= frequencies[id] + 1;
    }
    if (!here) all = false;
  });
  return all;
}

void add_direct(FrequencySort &sort, const IntegerInterner &interner) {
  const size_t slots = interner.direct_slots();
  for (size_t slot = 0; slot < slots; ++slot) {
    if (slot + prefetch_distance < slots) {
      const uint32_t ahead = interner.direct_id(slot + prefetch_distance);
      if (ahead != IntegerInterner::no_id) sort.prefetch(ahead);
    }
    const uint32_t id = interner.direct_id(slot);
    if (id != IntegerInterner::no_id) sort.add(id);
  }
}

}  // namespace

// Does the counting sort of FrequencySort by runs of ids, each on one worker.
Ranking rank_in_order(Buffer<uint32_t> frequencies, WorkerPool &pool, MemoryCounter &memory) {
  Ranking ranking(memory);
  if (ascend(frequencies, pool) && frequencies.back() != Ranking::none) {
    const auto first = std::partition_point(frequencies.begin(), frequencies.end(),
                                            [](uint32_t frequency) { return frequency == Ranking::none; });
    ranking.first_id = static_cast<uint32_t>(first - frequencies.begin());
    ranking.ranks = static_cast<uint32_t>(frequencies.end() - first);
    return ranking;
  }
  ranking.rank_of = std::move(frequencies);
  uint32_t *const rank_of = ranking.rank_of.data();
  const size_t ids = ranking.rank_of.size();
  const size_t runs = std::clamp<size_t>(ids / ids_per_range, 1, static_cast<size_t>(pool.workers()));
  Distribution<uint32_t> places(runs, counted_frequencies, pool, memory);
  std::vector<std::vector<Frequent>> frequent(runs);
  const auto visit_run = [&](size_t run, auto &&visit) {
    const size_t end = (run + 1) * ids / runs;
    for (size_t id = run * ids / runs; id < end; ++id) {
      pool.stop().check_at(id);
      visit(id, rank_of[id]);
    }
  };
  places.count([&](size_t run, uint32_t *counts) {
    visit_run(run, [&](size_t id, uint32_t frequency) {
      if (frequency < counted_frequencies) {
        ++counts[frequency];
      } else if (frequency != Ranking::none) {
        frequent[run].push_back({frequency, static_cast<uint32_t>(id)});
      }
    });
  });
  places.place([&](size_t run, uint32_t *next) {
    visit_run(run, [&](size_t id, uint32_t frequency) {
      if (frequency < counted_frequencies) rank_of[id] = next[frequency]++;
    });
  });
  ranking.ranks = places.items();
  for (size_t run = 1; run < runs; ++run) {
    frequent[0].insert(frequent[0].end(), frequent[run].begin(), frequent[run].end());
  }
  rank_frequent(frequent[0], ranking);
  return ranking;
}

// Values in the direct table are in order. The others are sorted, and come before and after them. So the keys
// need no frequencies, and most tokens need no key.
Ranking rank_tokens(IntegerInterner &interner, WorkerPool &pool, MemoryCounter &memory) {
  FrequencySort sort(interner.frequencies().take_shareable(), pool.stop(), memory);
  Buffer<SortKey> keys(memory);
  keys.resize(std::min<size_t>(interner.hashed(), sort.shareable_tokens()));
  keys.clear();
  interner.visit_hashed([&](int64_t value, uint32_t id) {
    if (sort.shareable(id)) keys.push_back(rank_key(0, static_cast<uint64_t>(value) ^ sign_bit, id));
  });
  interner.release_hashed();
  sort_keys(keys, pool, memory);
  const SortKey zero = rank_key(0, sign_bit, 0);
  const auto first_positive = std::lower_bound(
      keys.begin(), keys.end(), zero,
      [](const SortKey &a, const SortKey &b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; });
  const auto negative = static_cast<size_t>(first_positive - keys.begin());
  add_keys(sort, keys, 0, negative);
  add_direct(sort, interner);
  add_keys(sort, keys, negative, keys.size());
  Ranking ranking = sort.take(memory);
  ranking.distinct = interner.ids();
  return ranking;
}

Ranking rank_texts(Buffer<uint32_t> frequencies, TextNumbers &texts, WorkerPool &pool,
                   MemoryCounter &memory) {
  Buffer<SortKey> keys = keys_of_texts(frequencies, texts, pool, memory);
  texts.release_table();
  sort_keys(keys, pool, memory);
  order_colliding_texts(keys, texts, pool.stop());
  Ranking ranking(memory);
  ranking.rank_of = std::move(frequencies);
  ranking.ranks = static_cast<uint32_t>(keys.size());
  ranking.distinct = texts.size();
  for_ranges(pool, keys.size(), ids_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ranking.rank_of[id_of(keys[i])] = static_cast<uint32_t>(i);
  });
  return ranking;
}

}  // namespace simjoin
