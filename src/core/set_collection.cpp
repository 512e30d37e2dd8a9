#include "core/set_collection.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <cstring>

namespace simjoin {
namespace {

constexpr size_t rows_a_block = 4096;               // rows a unit of parallel work
constexpr size_t check_interval = size_t{1} << 16;  // rows or tokens between looks at the stop flag
// Below this many ranks an insertion sort wins over the dispatch of VQSort (tuned on kosarak- and dblp-shaped
// sets, Cascade Lake).
constexpr uint32_t insertion_sort_limit = 20;

void sort_ranks(uint32_t *ranks, uint32_t count, const hwy::Sorter &sorter) {
  if (count > insertion_sort_limit) {
    sorter(ranks, count, hwy::SortAscending());
    return;
  }
  for (uint32_t i = 1; i < count; ++i) {
    const uint32_t rank = ranks[i];
    uint32_t j = i;
    for (; j > 0 && ranks[j - 1] > rank; --j) ranks[j] = ranks[j - 1];
    ranks[j] = rank;
  }
}

size_t blocks_of(size_t rows) {
  return (rows + rows_a_block - 1) / rows_a_block;
}

// Returns the classes of all sizes that occur, ascending; `class_at` gets each size's class.
std::vector<SizeClass> count_classes(const Buffer<uint32_t> &sizes, bool keep_empty,
                                     Buffer<uint32_t> &class_at, const StopFlag &stop) {
  uint32_t largest = 0;
  for (const uint32_t size : sizes) largest = std::max(largest, size);
  class_at.resize(size_t{largest} + 1, 0);
  for (size_t row = 0; row < sizes.size(); ++row) {
    if (row % check_interval == 0) stop.check();
    ++class_at[sizes[row]];
  }
  std::vector<SizeClass> classes;
  uint32_t placed = 0;
  for (uint32_t size = keep_empty ? 0 : 1; size < class_at.size(); ++size) {
    const uint32_t count = class_at[size];
    if (count == 0) continue;
    class_at[size] = static_cast<uint32_t>(classes.size());
    classes.push_back({size, placed, placed + count});
    placed += count;
  }
  return classes;
}

}  // namespace

uint32_t SetCollection::class_of(uint32_t set) const {
  const auto after = std::upper_bound(classes.begin(), classes.end(), set,
                                      [](uint32_t number, const SizeClass &c) { return number < c.begin; });
  return static_cast<uint32_t>(after - classes.begin()) - 1;
}

void apply_ranks(RawSets &raw, const Ranking &ranking, Buffer<uint32_t> &stored, WorkerPool &pool) {
  const size_t rows = raw.rows();
  stored.resize(rows);
  pool.parallel(blocks_of(rows), [&](int, size_t block) {
    const hwy::Sorter sorter;
    uint64_t unchecked = 0;  // tokens since the last look at the stop flag
    for (size_t row = block * rows_a_block; row < std::min(rows, (block + 1) * rows_a_block); ++row) {
      unchecked += raw.sizes[row];
      if (unchecked >= check_interval) {
        pool.stop().check();
        unchecked = 0;
      }
      uint32_t *ids = raw.ids.data() + raw.starts[row];
      uint32_t kept = 0;
      for (uint32_t i = 0; i < raw.sizes[row]; ++i) {
        const uint32_t rank = ranking.rank_of[ids[i]];
        ids[kept] = rank;
        kept += rank != Ranking::none;
      }
      sort_ranks(ids, kept, sorter);
      stored[row] = kept;
    }
  });
}

SetCollection order_by_size(RawSets &raw, const Buffer<uint32_t> &stored, uint32_t ranks, bool keep_empty,
                            WorkerPool &pool, MemoryCounter &memory) {
  const StopFlag &stop = pool.stop();
  const size_t rows = raw.rows();
  SetCollection sets(memory);
  sets.ranks = ranks;
  Buffer<uint32_t> class_at(memory);
  sets.classes = count_classes(raw.sizes, keep_empty, class_at, stop);
  const uint32_t placed = sets.classes.empty() ? 0 : sets.classes.back().end;
  sets.rows.resize(placed);
  sets.starts.resize(size_t{placed} + 1);

  std::vector<uint32_t> next;
  for (const SizeClass &c : sets.classes) next.push_back(c.begin);
  for (size_t row = 0; row < rows; ++row) {
    if (row % check_interval == 0) stop.check();
    if (raw.sizes[row] == 0 && !keep_empty) continue;
    sets.rows[next[class_at[raw.sizes[row]]]++] = static_cast<uint32_t>(row);
  }
  uint64_t tokens = 0;
  for (size_t set = 0; set < placed; ++set) {
    if (set % check_interval == 0) stop.check();
    sets.starts[set] = tokens;
    tokens += stored[sets.rows[set]];
  }
  sets.starts[placed] = tokens;

  sets.tokens.resize(tokens);
  pool.parallel(blocks_of(placed), [&](int, size_t block) {
    for (size_t set = block * rows_a_block; set < std::min<size_t>(placed, (block + 1) * rows_a_block);
         ++set) {
      const uint32_t *from = raw.ids.data() + raw.starts[sets.rows[set]];
      std::copy_n(from, stored[sets.rows[set]], sets.tokens.data() + sets.starts[set]);
    }
  });
  raw.ids.release();
  raw.starts.release();
  return sets;
}

}  // namespace simjoin
