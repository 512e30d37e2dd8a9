#include "core/sets/set_collection.hpp"

#include <algorithm>
#include <utility>

#include "core/base/long_sort.hpp"

namespace simjoin {
namespace {

// The number of ids that are looked up together: their ranks stay in the first-level cache.
constexpr ptrdiff_t lookups = 1 << 12;
constexpr uint32_t rows_between_checks = 1u << 12;

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

SetCollection order_by_size(RawSets &raw, Buffer<uint32_t> stored, uint32_t ranks,
                            const std::optional<Bounds> &bounds, WorkerPool &pool, MemoryCounter &memory) {
  const StopFlag &stop = pool.stop();
  const bool keep_empty = !bounds;
  const size_t rows = raw.rows();
  SetCollection sets(memory);
  sets.ranks = ranks;
  SizeClasses sizes = classes_of(raw.sizes, keep_empty, stop, memory);
  sets.classes = std::move(sizes.classes);
  const uint32_t placed = sets.classes.empty() ? 0 : sets.classes.back().end;
  sets.rows.resize(placed);
  sets.starts.resize(size_t{placed} + 1);

  std::vector<uint32_t> next;
  for (const SizeClass &c : sets.classes) next.push_back(c.begin);
  for (size_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    if (raw.sizes[row] == 0 && !keep_empty) continue;
    sets.rows[next[sizes.class_of_size[raw.sizes[row]]]++] = static_cast<uint32_t>(row);
  }
  Buffer<uint32_t> &set_of_row = stored;  // takes the place of the counts, which the starts replace
  uint64_t tokens = 0;
  for (const SizeClass &c : sets.classes) {
    const int64_t least = bounds ? bounds->min_overlap(c.size, bounds->min_partner(c.size)) : 0;
    for (uint32_t set = c.begin; set < c.end; ++set) {
      stop.check_at(set);
      sets.starts[set] = tokens;
      const uint32_t kept = std::exchange(set_of_row[sets.rows[set]], set);
      if (kept >= least) tokens += kept;
    }
  }
  sets.starts[placed] = tokens;

  sets.tokens.resize(tokens);
  pool.parallel(raw.blocks.size(), [&](int, size_t number) {
    RawBlock &block = raw.blocks[number];
    const ShortSort sort;
    const uint32_t *from = block.ids.data();
    for (uint32_t row = block.first_row; row < block.first_row + block.rows; ++row) {
      if (row % rows_between_checks == 0) stop.check();
      const uint32_t size = raw.sizes[row];
      if (size == 0) continue;
      const uint32_t set = set_of_row[row], kept = sets.stored(set);
      uint32_t *const to = sets.tokens.data() + sets.starts[set];
      if (kept > 0) sort_long(from, kept, to, sort, [&] { stop.check(); });
      from += size;
    }
    block.ids.release();
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
