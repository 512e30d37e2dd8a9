#include "core/weighted/weighted_sets.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/check.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {
namespace {

// Calls visit(array) for each array that the format has.
template <class Sets, class Visit>
void visit_arrays(Sets &sets, Visit &&visit) {
  visit(sets.rows);
  visit(sets.starts);
  visit(sets.totals);
  visit(sets.stored);
  if (sets.format.exact) visit(sets.exact);
  visit(sets.ranks);
  if (sets.format.wide) {
    visit(sets.doubles);
  } else {
    visit(sets.floats);
  }
}

// Copies a set to its place among the ordered ones.
void copy_set(const WeightedSets &from, uint32_t set, WeightedSets &to, uint32_t place) {
  const WeightedSet source = from[set];
  const uint64_t start = to.starts[place];
  to.rows[place] = source.row;
  to.stored[place] = source.stored;
  if (to.format.exact) to.exact[place] = *source.exact;
  std::copy_n(source.ranks, source.count, to.ranks.data() + start);
  if (to.format.wide) {
    std::copy_n(source.doubles, source.count, to.doubles.data() + start);
  } else {
    std::copy_n(source.floats, source.count, to.floats.data() + start);
  }
}

}  // namespace

WeightedSets::WeightedSets(WeightFormat weight_format, MemoryCounter &memory)
    : format(weight_format),
      rows(memory),
      starts(memory),
      totals(memory),
      stored(memory),
      exact(memory),
      ranks(memory),
      floats(memory),
      doubles(memory) {}

void WeightedSets::resize(size_t sets, uint64_t tokens) {
  rows.resize(sets);
  starts.resize(sets + 1);
  totals.resize(sets);
  stored.resize(sets);
  if (format.exact) exact.resize(sets);
  ranks.resize(tokens);
  if (format.wide) {
    doubles.resize(tokens);
  } else {
    floats.resize(tokens);
  }
}

void WeightedSets::reserve(size_t sets, uint64_t tokens) {
  rows.reserve(sets);
  starts.reserve(sets + 1);
  totals.reserve(sets);
  stored.reserve(sets);
  if (format.exact) exact.reserve(sets);
  ranks.reserve(tokens);
  if (format.wide) {
    doubles.reserve(tokens);
  } else {
    floats.reserve(tokens);
  }
}

void WeightedSets::shrink() {
  visit_arrays(*this, [](auto &array) { array.shrink(); });
}

void WeightedSets::push_set(uint32_t row, double total, double stored_mass) {
  if (starts.empty()) starts.push_back(0);
  rows.push_back(row);
  totals.push_back(total);
  stored.push_back(stored_mass);
  starts.push_back(ranks.size());
}

size_t WeightedSets::bytes(WeightFormat format, uint64_t sets, uint64_t tokens) {
  const size_t set =
      sizeof(uint32_t) + sizeof(uint64_t) + 2 * sizeof(double) + (format.exact ? sizeof(ExactSum) : 0);
  return sets * set + tokens * (sizeof(uint32_t) + (format.wide ? sizeof(double) : sizeof(float)));
}

void WeightedSets::write(SpillFile &file, uint64_t place) {
  visit_arrays(*this, [&](auto &array) {
    const size_t bytes = array.size() * sizeof(array[0]);
    file.write(place, array.data(), bytes);
    place += bytes;
    array.release();
  });
}

void WeightedSets::read(const SpillFile &file, uint64_t place, size_t sets, uint64_t tokens) {
  resize(sets, tokens);
  visit_arrays(*this, [&](auto &array) {
    const size_t bytes = array.size() * sizeof(array[0]);
    file.read(place, array.data(), bytes);
    place += bytes;
  });
}

void WeightedSets::read_set(const SpillFile &file, uint64_t place, size_t sets, uint64_t tokens,
                            uint32_t set) {
  uint64_t range[2];
  file.read(place + sets * sizeof(rows[0]) + set * sizeof(starts[0]), range, sizeof(range));
  resize(1, range[1] - range[0]);
  visit_arrays(*this, [&](auto &array) {
    const void *const which = &array;
    const bool by_token = which == &ranks || which == &floats || which == &doubles;
    const uint64_t first = by_token ? range[0] : set;
    const uint64_t all = by_token ? tokens : which == &starts ? sets + 1 : sets;
    file.read(place + first * sizeof(array[0]), array.data(), array.size() * sizeof(array[0]));
    place += all * sizeof(array[0]);
  });
  starts[0] = 0;
  starts[1] = range[1] - range[0];
}

WeightedSets order_by_total(std::vector<WeightedBlock> &blocks, size_t first, size_t last,
                            const SpillFile *file, WorkerPool &pool, MemoryCounter &memory) {
  SIMJOIN_CHECK(first < last && last <= blocks.size());
  std::vector<size_t> begins = {0};  // of each block's sets among those of all blocks
  uint64_t tokens = 0;
  for (size_t b = first; b < last; ++b) {
    begins.push_back(begins.back() + blocks[b].count);
    tokens += blocks[b].tokens;
  }
  const size_t sets = begins.back();
  Buffer<uint32_t> places(memory,
                          sets);  // by number among all sets: the number of stored tokens, then the place
  Buffer<SortKey> keys(memory, sets);
  pool.parallel(last - first, [&](int, size_t b) {
    blocks[first + b].visit(file, memory, [&](const WeightedSets &block) {
      for (uint32_t set = 0; set < block.sets(); ++set) {
        pool.stop().check_at(set);
        const size_t number = begins[b] + set;
        places[number] = block[set].count;
        keys[number].hi =
            std::bit_cast<uint64_t>(block.totals[set]);  // ordered as the doubles, which have no sign
        keys[number].lo = number;
      }
    });
  });
  sort_keys(keys, pool, memory);
  WeightedSets ordered(blocks[first].sets.format, memory);
  ordered.resize(sets, tokens);
  uint64_t start = 0;
  for (uint32_t set = 0; set < sets; ++set) {
    pool.stop().check_at(set);
    ordered.starts[set] = start;
    ordered.totals[set] = std::bit_cast<double>(uint64_t{keys[set].hi});
    start += std::exchange(places[keys[set].lo], set);
  }
  ordered.starts[sets] = start;
  keys.release();
  pool.parallel(last - first, [&](int, size_t b) {
    blocks[first + b].visit(file, memory, [&](const WeightedSets &block) {
      for (uint32_t set = 0; set < block.sets(); ++set) {
        pool.stop().check_at(set);
        copy_set(block, set, ordered, places[begins[b] + set]);
      }
    });
    if (!blocks[first + b].in_file) blocks[first + b].sets = WeightedSets(ordered.format, memory);
  });
  return ordered;
}

}  // namespace simjoin
