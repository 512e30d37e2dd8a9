#include "cuda/weighted/weighted_lists.hpp"

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>

#include "cuda/base/binary_search.cuh"
#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/filters/inverted_index.hpp"
#include "cuda/graph/transfer.hpp"

namespace simjoin::gpu {
namespace {

// The masses are added in the order in which the CPU adds them.
__global__ void sum_rests(const WeightedView view, const WeightedBounds bounds, double *rests) {
  SIMJOIN_GRID_STRIDE(set, view.sets) {
    double rest = 0;
    for (uint64_t i = view.starts[set + 1]; i-- > view.starts[set];)
      rests[i] = rest += bounds.mass(view.weight(i));
  }
}

// Counts the tokens of each set's prefix.
__global__ void count_postings(const WeightedView view, const WeightedBounds bounds, uint32_t *counts) {
  SIMJOIN_GRID_STRIDE(set, view.sets) {
    const double total = view.totals[set], least = bounds.least_excess(total);
    const uint64_t begin = view.starts[set];
    counts[set] = static_cast<uint32_t>(
        partition_point(begin, view.starts[set + 1],
                        [&](uint64_t i) { return bounds.excess(total, view.rests[i]) >= least; }) -
        begin);
  }
}

__global__ void list_postings(const WeightedView view, const WeightedBounds bounds, const uint64_t *offsets,
                              uint32_t *ranks, WeightedPosting *postings) {
  SIMJOIN_GRID_STRIDE(n, uint64_t{view.sets} * weighted_lanes) {
    const uint64_t set = n / weighted_lanes, first = offsets[set], end = offsets[set + 1];
    for (uint64_t i = first + n % weighted_lanes; i < end; i += weighted_lanes) {
      const uint64_t token = view.starts[set] + (i - first);
      ranks[i] = view.ranks[token];
      postings[i] = {static_cast<uint32_t>(set),
                     __double2float_ru(bounds.excess(view.totals[set], view.rests[token]))};
    }
  }
}

// Sets starts[rank] to the first of the ascending `sorted` ranks that is not below `rank`.
__global__ void find_starts(const uint32_t *sorted, uint64_t count, uint32_t ranks, uint64_t *starts) {
  SIMJOIN_GRID_STRIDE(rank, uint64_t{ranks} + 1)
  starts[rank] = lower_bound(sorted, uint64_t{0}, count, static_cast<uint32_t>(rank));
}

template <typename T>
void upload(Device &device, Staging &staging, DeviceBuffer<T> &to, const Buffer<T> &from) {
  to = DeviceBuffer<T>(device, from.size());
  staging.upload(to.data(), from.size(), [&](size_t i) { return from[i]; });
}

}  // namespace

DeviceWeightedSets::DeviceWeightedSets(Device &device, const WeightedSets &sets, const WeightedBounds &bounds,
                                       WorkerPool &pool) {
  Staging staging(device, pool);
  upload(device, staging, starts_, sets.starts);
  upload(device, staging, totals_, sets.totals);
  upload(device, staging, ranks_, sets.ranks);
  upload(device, staging, floats_, sets.floats);
  upload(device, staging, doubles_, sets.doubles);
  rests_ = DeviceBuffer<double>(device, sets.ranks.size());
  if (sets.sets() > 0)
    launch(device, sum_rests, blocks_for(device, sets.sets()), view(), bounds, rests_.data());
}

WeightedLists::WeightedLists(Device &device, const WeightedView &sets, const WeightedBounds &bounds,
                             uint32_t ranks, const StopFlag &stop) {
  DeviceBuffer<uint32_t> counts(device, size_t{sets.sets} + 1);
  counts.fill(0);
  if (sets.sets > 0)
    launch(device, count_postings, blocks_for(device, sets.sets), sets, bounds, counts.data());
  DeviceBuffer<uint64_t> offsets(device, size_t{sets.sets} + 1);
  scan_counts(device, counts.data(), offsets.data(), size_t{sets.sets} + 1);
  const uint64_t count = read_value(device, offsets.data() + sets.sets);
  stop.check();
  DeviceBuffer<uint32_t> tokens(device, count), sorted_tokens(device, count);
  DeviceBuffer<WeightedPosting> postings(device, count);
  postings_ = DeviceBuffer<WeightedPosting>(device, count);
  starts_ = DeviceBuffer<uint64_t>(device, size_t{ranks} + 1);
  if (count > 0) {
    launch(device, list_postings, blocks_for(device, sets.sets, weighted_lanes), sets, bounds, offsets.data(),
           tokens.data(), postings.data());
    with_scratch(device, [&](void *scratch, size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(
          scratch, bytes, tokens.data(), sorted_tokens.data(), postings.data(), postings_.data(),
          cub_count(count), 0, std::max(1, static_cast<int>(std::bit_width(ranks))), device.stream());
    });
  }
  launch(device, find_starts, blocks_for(device, uint64_t{ranks} + 1), sorted_tokens.data(), count, ranks,
         starts_.data());
}

}  // namespace simjoin::gpu
