#include "core/set_collection.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <utility>

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;  // rows between looks at the stop flag
constexpr uint64_t tokens_between_checks = uint64_t{1} << 16;
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

}  // namespace

uint32_t SetCollection::class_of(uint32_t set) const {
  const auto after = std::upper_bound(classes.begin(), classes.end(), set,
                                      [](uint32_t number, const SizeClass &c) { return number < c.begin; });
  return static_cast<uint32_t>(after - classes.begin()) - 1;
}

SizeClasses classes_of(const Buffer<uint32_t> &sizes, bool keep_empty, const StopFlag &stop,
                       MemoryCounter &memory) {
  uint32_t largest = 0;
  for (const uint32_t size : sizes) largest = std::max(largest, size);
  SizeClasses result(memory);
  Buffer<uint32_t> &class_at = result.class_of_size;
  class_at.resize(size_t{largest} + 1, 0);
  for (size_t row = 0; row < sizes.size(); ++row) {
    if (row % check_interval == 0) stop.check();
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
  const hwy::Sorter sorter;
  uint64_t unchecked = 0;  // tokens since the last look at the stop flag
  uint32_t *ids = block.ids.data();
  for (uint32_t i = 0; i < block.rows; ++i) {
    const uint32_t size = raw.sizes[block.first_row + i];
    unchecked += size;
    if (unchecked >= tokens_between_checks) {
      stop.check();
      unchecked = 0;
    }
    uint32_t kept = 0;
    for (uint32_t t = 0; t < size; ++t) {
      const uint32_t rank = ranking.rank_of[ids[t]];
      ids[kept] = rank;
      kept += rank != Ranking::none;
    }
    sort_ranks(ids, kept, sorter);
    stored[i] = kept;
    ids += size;
  }
}

SetCollection order_by_size(RawSets &raw, Buffer<uint32_t> stored, uint32_t ranks, bool keep_empty,
                            WorkerPool &pool, MemoryCounter &memory) {
  const StopFlag &stop = pool.stop();
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
    if (row % check_interval == 0) stop.check();
    if (raw.sizes[row] == 0 && !keep_empty) continue;
    sets.rows[next[sizes.class_of_size[raw.sizes[row]]]++] = static_cast<uint32_t>(row);
  }
  Buffer<uint32_t> &set_of_row = stored;  // takes the place of the counts, which the starts replace
  uint64_t tokens = 0;
  for (uint32_t set = 0; set < placed; ++set) {
    if (set % check_interval == 0) stop.check();
    sets.starts[set] = tokens;
    tokens += std::exchange(set_of_row[sets.rows[set]], set);
  }
  sets.starts[placed] = tokens;

  sets.tokens.resize(tokens);
  pool.parallel(raw.blocks.size(), [&](int, size_t number) {
    RawBlock &block = raw.blocks[number];
    const uint32_t *from = block.ids.data();
    for (uint32_t row = block.first_row; row < block.first_row + block.rows; from += raw.sizes[row++]) {
      if (raw.sizes[row] == 0) continue;
      const uint32_t set = set_of_row[row];
      std::copy_n(from, sets.stored(set), sets.tokens.data() + sets.starts[set]);
    }
    block.ids.release();
  });
  raw.blocks.clear();
  return sets;
}

}  // namespace simjoin
