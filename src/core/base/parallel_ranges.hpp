// Loops over the nodes and edges of graphs, in pieces that do not depend on the number of workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// The entries of an array that one worker takes at a time: some milliseconds if each is a cache miss. The
// pool looks at the stop flag between two ranges.
inline constexpr size_t entries_per_range = size_t{1} << 15;

// Calls body(begin, end) for consecutive ranges of [0, count), in parallel. The ranges do not depend on the
// number of workers.
template <typename Body>
void for_ranges(WorkerPool &pool, size_t count, size_t range, Body &&body) {
  pool.parallel((count + range - 1) / range,
                [&](int, size_t i) { body(i * range, std::min(count, (i + 1) * range)); });
}

// Resizes the array and sets all of it to `value`, in parallel, since the first touch of memory is slow.
template <typename T>
void fill(Buffer<T> &buffer, size_t size, T value, WorkerPool &pool) {
  buffer.resize(size);
  for_ranges(pool, size, size_t{1} << 18, [&](size_t begin, size_t end) {
    std::fill(buffer.begin() + begin, buffer.begin() + end, value);
  });
}

// Returns the comparison `less` with a look at the stop flag now and then, for sorting arrays of any size.
template <typename Less>
auto stoppable(const StopFlag &stop, Less less) {
  return [&stop, less](const auto &a, const auto &b) {
    static thread_local uint32_t compared = 0;  // algorithms copy their comparisons
    stop.check_at(++compared);
    return less(a, b);
  };
}

}  // namespace simjoin
