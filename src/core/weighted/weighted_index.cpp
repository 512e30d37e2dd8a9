#include "core/weighted/weighted_index.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/parallel_ranges.hpp"

namespace simjoin {
namespace {

constexpr size_t sets_per_range = 1024;
constexpr size_t ranks_per_range = size_t{1} << 14;

// Returns the least float that is not below the value.
float rounded_up(double value) {
  if (value > std::numeric_limits<float>::max()) return INFINITY;
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafter(nearest, INFINITY) : nearest;
}

// Calls visit(rank, excess) for the tokens of the set's prefix. `rests` is scratch memory.
template <class Visit>
void visit_prefix(const WeightedSet &set, bool wide, const WeightedBounds &bounds, std::vector<double> &rests,
                  const StopFlag &stop, Visit &&visit) {
  SIMJOIN_CHECK(std::is_sorted(set.ranks, set.ranks + set.count));
  rests.resize(set.count);
  double rest = 0;
  for (uint32_t i = set.count; i-- > 0;) {
    stop.check_at(i);
    rests[i] = rest += bounds.mass(wide ? set.doubles[i] : static_cast<double>(set.floats[i]));
  }
  const double least = bounds.least_excess(set.total);
  for (uint32_t i = 0; i < set.count; ++i) {
    const double excess = bounds.excess(set.total, rests[i]);
    if (excess < least) return;
    visit(set.ranks[i], excess);
  }
}

// Calls visit(set, rank, excess) for the prefixes of the sets [begin, end).
template <class Visit>
void visit_prefixes(const WeightedSets &sets, size_t begin, size_t end, const WeightedBounds &bounds,
                    const StopFlag &stop, Visit &&visit) {
  std::vector<double> rests;
  for (size_t set = begin; set < end; ++set) {
    if (set % sets_per_range == 0) stop.check();
    const auto number = static_cast<uint32_t>(set);
    visit_prefix(sets[number], sets.format.wide, bounds, rests, stop,
                 [&](uint32_t rank, double excess) { visit(number, rank, excess); });
  }
}

}  // namespace

uint64_t WeightedIndex::postings_of(const WeightedSets &sets, const WeightedBounds &bounds,
                                    const StopFlag &stop) {
  uint64_t postings = 0;
  if (bounds.every_pair()) return postings;
  visit_prefixes(sets, 0, sets.sets(), bounds, stop, [&](uint32_t, uint32_t, double) { ++postings; });
  return postings;
}

// The workers place postings as they come to them, in the order of the sets but for the other workers. Then
// each list is put in order.
WeightedIndex::WeightedIndex(const WeightedSets &sets, const WeightedBounds &bounds, uint32_t ranks,
                             WorkerPool &pool, MemoryCounter &memory)
    : sets_(sets), ends_(memory), postings_(memory) {
  SIMJOIN_CHECK(std::is_sorted(sets.totals.begin(), sets.totals.end()));
  if (bounds.every_pair()) return;
  fill(ends_, ranks, uint64_t{0}, pool);
  const auto next = [this](uint32_t rank) {
    return std::atomic_ref(ends_[rank]).fetch_add(1, std::memory_order_relaxed);
  };
  for_ranges(pool, sets.sets(), sets_per_range, [&](size_t begin, size_t end) {
    visit_prefixes(sets, begin, end, bounds, pool.stop(),
                   [&](uint32_t, uint32_t rank, double) { next(rank); });
  });
  uint64_t postings = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    pool.stop().check_at(rank);
    postings += std::exchange(ends_[rank], postings);  // where the rank's postings begin
  }
  postings_.resize(postings);
  for_ranges(pool, sets.sets(), sets_per_range, [&](size_t begin, size_t end) {
    visit_prefixes(sets, begin, end, bounds, pool.stop(), [&](uint32_t set, uint32_t rank, double excess) {
      postings_[next(rank)] = {set, rounded_up(excess)};  // the last one moves the begin to the end
    });
  });
  if (pool.workers() > 1) sort_lists(pool);
}

void WeightedIndex::sort_lists(WorkerPool &pool) {
  const auto by_set = stoppable(
      pool.stop(), [](const WeightedPosting &a, const WeightedPosting &b) { return a.set < b.set; });
  const size_t ranges = (ends_.size() + ranks_per_range - 1) / ranks_per_range;
  pool.parallel(ranges, [&](int, size_t i) {
    const size_t range = ranges - 1 - i;  // the most frequent ranks first, since they have the longest lists
    const size_t end = std::min(ends_.size(), (range + 1) * ranks_per_range);
    for (size_t rank = range * ranks_per_range; rank < end; ++rank) {
      WeightedPosting *begin = postings_.data() + (rank == 0 ? 0 : ends_[rank - 1]);
      WeightedPosting *last = postings_.data() + ends_[rank];
      if (!std::is_sorted(begin, last, by_set)) std::sort(begin, last, by_set);
    }
  });
}

}  // namespace simjoin
