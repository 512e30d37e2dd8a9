#include "core/prefix_index.hpp"

#include <algorithm>

#include "core/parity_signature.hpp"

namespace simjoin {
namespace {

constexpr uint32_t check_interval = 1u << 14;  // units between looks at the stop flag
// Counting in several parts costs a counter for each rank and part: at most this many a stored token.
constexpr size_t counters_per_token = 2;

}  // namespace

PrefixIndex::PrefixIndex(const JoinProblem &problem, const PrefixGroups *groups, bool sign, WorkerPool &pool,
                         MemoryCounter &memory)
    : problem_(problem),
      groups_(groups),
      units_(groups != nullptr ? groups->groups() : problem.index.sets()),
      starts_(memory),
      postings_(memory),
      signatures_(memory) {
  const SetCollection &sets = problem.index;
  for (const SizeClass &c : sets.classes) {
    class_begin_.push_back(groups == nullptr || c.begin == sets.sets() ? c.begin : groups->group_of(c.begin));
  }
  class_begin_.push_back(units_);
  const size_t affordable = counters_per_token * sets.tokens.size() / (size_t{sets.ranks} + 1);
  fill(std::clamp<size_t>(affordable, 1, static_cast<size_t>(pool.workers())), sign, pool, memory);
}

uint32_t PrefixIndex::class_of(uint32_t unit) const {
  return static_cast<uint32_t>(std::upper_bound(class_begin_.begin(), class_begin_.end() - 1, unit) -
                               class_begin_.begin()) -
         1;
}

// Calls visit(rank, posting, set) for the index prefixes of units [begin, end), units ascending.
template <typename Visit>
void PrefixIndex::visit_prefixes(uint32_t begin, uint32_t end, const StopFlag &stop, Visit &&visit) const {
  if (begin >= end) return;
  const SetCollection &sets = problem_.index;
  uint32_t size_class = class_of(begin);
  for (uint32_t unit = begin; unit < end; ++unit) {
    if (unit % check_interval == 0) stop.check();
    while (unit >= class_begin_[size_class + 1]) ++size_class;
    const uint32_t set = first_set(unit);
    const uint32_t stored = sets.stored(set);
    const uint32_t prefix =
        sets.stored_prefix(set, sets.classes[size_class].size, problem_.index_prefix[size_class]);
    const uint32_t *ranks = sets.begin(set);
    for (uint32_t i = 0; i < prefix; ++i) {
      visit(ranks[i], Posting(unit, size_class, stored - i - 1), set);
    }
  }
}

// Counting sort by rank in `parts` parts of the units, so that each list comes out in the order of its units.
void PrefixIndex::fill(size_t parts, bool sign, WorkerPool &pool, MemoryCounter &memory) {
  const size_t ranks = problem_.index.ranks;
  const auto part_begin = [&](size_t part) { return static_cast<uint32_t>(uint64_t{units_} * part / parts); };
  Buffer<uint32_t> cursors(memory, ranks * parts, 0);  // within each list, part after part
  pool.parallel(parts, [&](int, size_t part) {
    uint32_t *counts = cursors.data() + part * ranks;
    visit_prefixes(part_begin(part), part_begin(part + 1), pool.stop(),
                   [&](uint32_t rank, const Posting &, uint32_t) { ++counts[rank]; });
  });
  starts_.resize(ranks + 1);
  uint64_t placed = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (rank % check_interval == 0) pool.stop().check();
    starts_[rank] = placed;
    uint32_t length = 0;
    for (size_t part = 0; part < parts; ++part) {
      uint32_t &cursor = cursors[part * ranks + rank];
      length += std::exchange(cursor, length);
    }
    placed += length;
  }
  starts_[ranks] = placed;
  postings_.resize(placed);
  if (sign) signatures_.resize(placed);
  pool.parallel(parts, [&](int, size_t part) {
    uint32_t *places = cursors.data() + part * ranks;
    uint32_t signed_set = UINT32_MAX;
    uint64_t signature = 0;
    visit_prefixes(part_begin(part), part_begin(part + 1), pool.stop(),
                   [&](uint32_t rank, const Posting &posting, uint32_t set) {
                     const uint64_t place = starts_[rank] + places[rank]++;
                     postings_[place] = posting;
                     if (!sign) return;
                     if (set != signed_set) {
                       const uint32_t size = problem_.index.classes[class_of(posting)].size;
                       signature = parity_signature(problem_.index, set, size);
                       signed_set = set;
                     }
                     signatures_[place] = signature;
                   });
  });
}

}  // namespace simjoin
