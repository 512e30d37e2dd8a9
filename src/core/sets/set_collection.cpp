#include "core/sets/set_collection.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/parallel_ranges.hpp"
#include "core/sort/distribute.hpp"
#include "core/sort/long_sort.hpp"

namespace simjoin {
namespace {

// The number of ids that are looked up together: their ranks stay in the first-level cache.
constexpr ptrdiff_t lookups = 1 << 12;
constexpr uint32_t rows_between_checks = 1u << 12;
// A worker sorts at least so many rows by size.
constexpr size_t rows_per_run = size_t{1} << 16;
// Ranks that are copied between two looks at the stop flag.
constexpr uint32_t copied_at_once = 1u << 20;

// Writes where the tokens of each set begin. Returns their number. `stored` has the number of a row's ranks,
// and then its set.
uint64_t place_tokens(SetCollection &sets, const std::optional<Bounds> &bounds, Buffer<uint32_t> &stored,
                      WorkerPool &pool) {
  const uint32_t all = sets.sets();
  sets.starts.resize(size_t{all} + 1);
  std::vector<uint64_t> before(all / entries_per_range + 1);  // tokens of each range, then those before it
  for_ranges(pool, all, entries_per_range, [&](size_t begin, size_t end) {
    uint64_t tokens = 0;
    auto set = static_cast<uint32_t>(begin);
    for (uint32_t k = sets.class_of(set); set < end; ++k) {
      const SizeClass &c = sets.classes[k];
      const int64_t least = bounds ? bounds->min_overlap(c.size, bounds->min_partner(c.size)) : 0;
      for (const size_t last = std::min<size_t>(end, c.end); set < last; ++set) {
        const uint32_t kept = std::exchange(stored[sets.rows[set]], set);
        sets.starts[set] = tokens;
        if (kept >= least) tokens += kept;
      }
    }
    before[begin / entries_per_range] = tokens;
  });
  uint64_t tokens = 0;
  for (uint64_t &range : before) tokens += std::exchange(range, tokens);
  for_ranges(pool, all, entries_per_range, [&](size_t begin, size_t end) {
    for (size_t set = begin; set < end; ++set) sets.starts[set] += before[begin / entries_per_range];
  });
  return sets.starts[all] = tokens;
}

// Returns how many bytes of `tokens` ranks are not touched before as many bytes of ids are given back. Each
// class is filled from its beginning, block by block. Small blocks are given back to the allocator, which
// keeps them.
size_t untouched_bytes(const RawSets &raw, uint64_t tokens, size_t classes, int workers) {
  size_t given_back = 0;
  for (const RawBlock &block : raw.blocks) given_back += mapped_bytes(block);
  const size_t early = ordering_room(classes, workers);
  return std::min<size_t>(tokens * sizeof(uint32_t), given_back - std::min(given_back, early));
}

// Writes the ranks of a set's last ids, which ascend.
void copy_ranks(const uint32_t *ids, uint32_t count, uint32_t first_id, uint32_t *ranks,
                const StopFlag &stop) {
  for (uint32_t i = 0; i < count;) {
    stop.check();
    for (const uint32_t end = i + std::min(count - i, copied_at_once); i < end; ++i) {
      ranks[i] = ids[i] - first_id;
    }
  }
}

}  // namespace

uint32_t SetCollection::class_of(uint32_t set) const {
  const auto after = std::upper_bound(classes.begin(), classes.end(), set,
                                      [](uint32_t number, const SizeClass &c) { return number < c.begin; });
  return static_cast<uint32_t>(after - classes.begin()) - 1;
}

SizeClasses classes_of(const SetSizes &sizes, bool keep_empty, const StopFlag &stop, MemoryCounter &memory) {
  SizeClasses result(memory);
  Buffer<uint32_t> &class_at = result.class_of_size;
  class_at.resize(size_t{sizes.largest()} + 1, 0);
  for (size_t row = 0; row < sizes.size(); ++row) {
    stop.check_at(row);
    ++class_at[sizes[row]];
  }
  uint32_t placed = 0;
  for (uint32_t size = keep_empty ? 0 : 1; size < class_at.size(); ++size) {
    const uint32_t count = class_at[size];
    if (count == 0) continue;
    class_at[size] = static_cast<uint32_t>(result.classes.size());
    result.classes.push_back({size, placed, placed + count});
    placed += count;
  }
  return result;
}

void apply_ranks(const RawSets &raw, RawBlock &block, const Ranking &ranking, uint32_t *stored,
                 const StopFlag &stop) {
  uint32_t *ids = block.ids.data();
  uint32_t *mapped = ids;  // the first id that has not been looked up
  uint32_t *const end = ids + block.tokens;
  for (uint32_t i = 0; i < block.rows; ++i) {
    const uint32_t size = raw.sizes[block.first_row + i];
    // Ids are looked up many at a time: cache misses overlap only while nothing waits for them.
    while (mapped < ids + size) {
      stop.check();
      uint32_t *const to = mapped + std::min<ptrdiff_t>(end - mapped, lookups);
      if (ranking.has_table()) {
        for (; mapped < to; ++mapped) *mapped = ranking.of(*mapped);
      } else {
        for (; mapped < to; ++mapped) *mapped = ranking.rank_in(*mapped);
      }
    }
    uint32_t kept = 0;
    for (uint32_t t = 0; t < size; ++t) {
      const uint32_t rank = ids[t];
      ids[kept] = rank;
      kept += rank != Ranking::none;
    }
    stored[i] = kept;
    ids += size;
  }
}

void count_ranked(const RawSets &raw, const RawBlock &block, const Ranking &ranking, uint32_t *stored,
                  const StopFlag &stop) {
  const uint32_t *ids = block.ids.data();
  raw.sizes.visit(block.first_row, block.first_row + size_t{block.rows}, [&](size_t row, uint32_t size) {
    if (row % rows_between_checks == 0) stop.check();
    const uint32_t *const first = ids, *const end = ids += size;
    const bool all = size > 0 && *first >= ranking.first_id;  // as in most sets
    *stored++ = static_cast<uint32_t>(end - (all ? first : std::lower_bound(first, end, ranking.first_id)));
  });
}

void apply_ranks_in_order(const RawSets &raw, RawBlock &block, const Ranking &ranking, uint32_t *stored,
                          const StopFlag &stop) {
  apply_ranks(raw, block, ranking, stored, stop);
  const ShortSort sort;
  uint32_t *ids = block.ids.data();
  for (uint32_t i = 0; i < block.rows; ++i) {
    if (i % rows_between_checks == 0) stop.check();
    sort_long(ids, stored[i], sort, [&] { stop.check(); });
    ids += raw.sizes[block.first_row + i];
  }
}

SetCollection order_by_size(RawSets &raw, Buffer<uint32_t> stored, const Ranking &ranking,
                            const std::optional<Bounds> &bounds, WorkerPool &pool, MemoryCounter &memory) {
  const StopFlag &stop = pool.stop();
  const bool keep_empty = !bounds;
  const size_t rows = raw.rows();
  SetCollection sets(memory);
  sets.ranks = ranking.ranks;

  // Counting sort by size.
  const uint32_t largest = raw.sizes.largest();
  const size_t most_runs =
      std::min<size_t>(static_cast<size_t>(pool.workers()), rows / (size_t{largest} + 1));
  const size_t runs = std::clamp<size_t>(rows / rows_per_run, 1, std::max<size_t>(most_runs, 1));
  Distribution<uint32_t> places(runs, size_t{largest} + 1, pool, memory);
  const auto visit_run = [&](size_t run, auto &&visit) {
    raw.sizes.visit(run * rows / runs, (run + 1) * rows / runs, [&](size_t row, uint32_t size) {
      stop.check_at(row);
      if (size > 0 || keep_empty) visit(static_cast<uint32_t>(row), size);
    });
  };
  places.count([&](size_t run, uint32_t *counts) {
    visit_run(run, [&](uint32_t, uint32_t size) { ++counts[size]; });
  });
  for (uint32_t size = 0; size <= largest; ++size) {
    const uint32_t begin = places.begin(size), end = places.begin(size + 1);
    if (begin < end) sets.classes.push_back({size, begin, end});
  }
  sets.rows.resize(places.items());
  places.place([&](size_t run, uint32_t *next) {
    visit_run(run, [&](uint32_t row, uint32_t size) { sets.rows[next[size]++] = row; });
  });

  Buffer<uint32_t> &set_of_row = stored;  // takes the place of the counts, which the starts replace
  const uint64_t tokens = place_tokens(sets, bounds, set_of_row, pool);

  UntouchedBytes untouched(memory, untouched_bytes(raw, tokens, sets.classes.size(), pool.workers()));
  sets.tokens.resize(tokens);
  pool.parallel(raw.blocks.size(), [&](int, size_t number) {
    RawBlock &block = raw.blocks[number];
    const ShortSort sort;
    const uint32_t *from = block.ids.data();
    raw.sizes.visit(block.first_row, block.first_row + size_t{block.rows}, [&](size_t row, uint32_t size) {
      if (row % rows_between_checks == 0) stop.check();
      if (size == 0) return;
      const uint32_t set = set_of_row[row], kept = sets.stored(set);
      uint32_t *const to = sets.tokens.data() + sets.starts[set];
      if (ranking.in_order_of_values) {
        copy_ranks(from + (size - kept), kept, ranking.first_id, to, stop);
      } else if (kept > 0) {
        sort_long(from, kept, to, sort, [&] { stop.check(); });
      }
      from += size;
    });
    const size_t bytes = mapped_bytes(block);
    block.ids.release();
    untouched.touch(bytes);
  });
  raw.blocks.clear();
  return sets;
}

SetCollection sets_of_rows(const SetCollection &sets, const Buffer<uint8_t> &wanted, const StopFlag &stop,
                           MemoryCounter &memory) {
  constexpr uint32_t check_interval = 1u << 12;
  SetCollection some(memory);
  some.ranks = sets.ranks;
  some.starts.push_back(0);
  for (const SizeClass &c : sets.classes) {
    const uint32_t begin = some.sets();
    for (uint32_t set = c.begin; set < c.end; ++set) {
      if (set % check_interval == 0) stop.check();
      if (wanted[sets.rows[set]] == 0) continue;
      some.rows.push_back(sets.rows[set]);
      std::copy_n(sets.begin(set), sets.stored(set), some.tokens.extend(sets.stored(set)));
      some.starts.push_back(some.tokens.size());
    }
    if (some.sets() > begin) some.classes.push_back({c.size, begin, some.sets()});
  }
  return some;
}

}  // namespace simjoin
