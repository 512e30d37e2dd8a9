// Sorting of the tokens of one set of any size, so that it can be given up at any time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/check.hpp"
#include "core/sort/short_sort.hpp"

namespace simjoin {

// Longer runs are divided before they are sorted: VQSort takes some 10 ms for this many numbers.
inline constexpr size_t longest_short_run = size_t{1} << 20;

// Sorts numbers without a sign ascending, in their place. Calls check() at least every few milliseconds,
// which may throw: then the numbers are in any order. A long run is divided by its upper bits (McIlroy,
// Bostic, McIlroy: Engineering radix sort, 1993). sort(numbers, count) sorts short ones, as ShortSort does.
template <typename Number, typename Sort, typename Check>
void sort_long(Number *numbers, size_t count, const Sort &sort, Check &&check) {
  constexpr int bits = 8;
  constexpr size_t steps = size_t{1} << 16, buckets = size_t{1} << bits;
  if (count <= longest_short_run) {
    sort(numbers, count);
    return;
  }
  Number least = numbers[0], greatest = numbers[0];
  for (size_t i = 0; i < count; ++i) {
    if (i % steps == 0) check();
    least = std::min(least, numbers[i]);
    greatest = std::max(greatest, numbers[i]);
  }
  const auto width = static_cast<int>(std::bit_width(static_cast<Number>(greatest - least)));
  const int shift = std::max(width - bits, 0);
  const auto bucket_of = [&](Number number) { return static_cast<size_t>((number - least) >> shift); };
  size_t ends[buckets] = {}, places[buckets];
  for (size_t i = 0; i < count; ++i) {
    if (i % steps == 0) check();
    ++ends[bucket_of(numbers[i])];
  }
  for (size_t bucket = 0, end = 0; bucket < buckets; ++bucket) {
    places[bucket] = end;
    ends[bucket] = end += ends[bucket];
  }
  for (size_t bucket = 0, moved = 0; bucket < buckets; ++bucket) {
    for (size_t &place = places[bucket]; place < ends[bucket]; ++moved) {
      if (moved % steps == 0) check();
      const size_t home = bucket_of(numbers[place]);
      if (home == bucket)
        ++place;
      else
        std::swap(numbers[place], numbers[places[home]++]);
    }
  }
  for (size_t bucket = 0, begin = 0; bucket < buckets && shift > 0; begin = ends[bucket++]) {
    check();
    sort_long(numbers + begin, ends[bucket] - begin, sort, check);
  }
}

// Does the same while the numbers are copied to a place that does not overlap theirs.
template <typename Number, typename Check>
void sort_long(const Number *from, size_t count, Number *to, const ShortSort &sort, Check &&check) {
  if (count <= longest_short_run) return sort(from, count, to);
  std::copy_n(from, count, to);
  sort_long(to, count, sort, check);
}

// Moves the first of equal numbers to the beginning and returns how many those are. The numbers ascend. Calls
// check() now and then, which may throw.
template <typename Number, typename Check>
size_t leave_once(Number *numbers, size_t count, Check &&check) {
  SIMJOIN_CHECK(std::is_sorted(numbers, numbers + count));
  if (count <= longest_short_run) return static_cast<size_t>(std::unique(numbers, numbers + count) - numbers);
  size_t kept = 1;
  for (size_t i = 1; i < count; ++i) {
    if (i % longest_short_run == 0) check();
    if (numbers[i] != numbers[kept - 1]) numbers[kept++] = numbers[i];
  }
  return kept;
}

}  // namespace simjoin
