// Sums of doubles in one order, for any number of threads and for GPUs.
//
// Values come in segments. Within a segment, lane l adds up the values l, l + sum_lanes, ... Then the upper
// half of the lanes is added to the lower half, until one lane is left. The sums of segments are added up in
// the same way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// This many threads of a GPU share the list of a node, since graphs have about ten neighbors for each node.
inline constexpr size_t sum_lanes = 8;
inline constexpr size_t sum_segment = 1024;

constexpr size_t segments_of(size_t count) {
  return (count + sum_segment - 1) / sum_segment;
}

// Returns the sum of value(0) to value(count - 1); count <= sum_segment. A sum is a double or some side by
// side.
template <typename Sum = double, typename Value>
Sum segment_sum(size_t count, Value &&value) {
  Sum lanes[sum_lanes] = {};
  size_t i = 0;
  for (; i + sum_lanes <= count; i += sum_lanes)
    for (size_t lane = 0; lane < sum_lanes; ++lane) lanes[lane] += value(i + lane);
  for (size_t lane = 0; i < count; ++i, ++lane) lanes[lane] += value(i);
  for (size_t half = sum_lanes / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

// Returns the sum of the segments' sums. Overwrites `sums`.
template <typename Sum>
Sum sum_of_segments(Sum *sums, size_t count) {
  if (count == 0) return {};
  while (count > 1) {
    const size_t segments = segments_of(count);
    for (size_t s = 0; s < segments; ++s) {
      const Sum *segment = sums + s * sum_segment;
      sums[s] = segment_sum<Sum>(std::min(sum_segment, count - s * sum_segment),
                                 [&](size_t i) { return segment[i]; });
    }
    count = segments;
  }
  return sums[0];
}

// Returns the sum of value(i) over [0, count).
template <typename Sum = double, typename Value>
Sum ordered_sum(size_t count, const StopFlag &stop, Value &&value) {
  if (count <= sum_segment) return segment_sum<Sum>(count, value);
  std::vector<Sum> sums(segments_of(count));
  for (size_t s = 0; s < sums.size(); ++s) {
    stop.check();
    const size_t begin = s * sum_segment;
    sums[s] =
        segment_sum<Sum>(std::min(sum_segment, count - begin), [&](size_t i) { return value(begin + i); });
  }
  return sum_of_segments(sums.data(), sums.size());
}

// Returns the same as ordered_sum, in parallel.
template <typename Value>
double parallel_sum(WorkerPool &pool, size_t count, MemoryCounter &memory, Value &&value) {
  constexpr size_t segments_per_range = 16;
  Buffer<double> sums(memory, segments_of(count));
  for_ranges(pool, sums.size(), segments_per_range, [&](size_t first, size_t last) {
    for (size_t s = first; s < last; ++s) {
      const size_t begin = s * sum_segment;
      sums[s] = segment_sum(std::min(sum_segment, count - begin), [&](size_t i) { return value(begin + i); });
    }
  });
  return sum_of_segments(sums.data(), sums.size());
}

}  // namespace simjoin
