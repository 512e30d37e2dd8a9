// The least of a few ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace simjoin {

// Moves the `count` least of different numbers to the front. Steps of a quickselect that mispredict nothing
// take a third of the time of std::nth_element, which bounds the time for many numbers.
inline void least_to_front(uint32_t *begin, uint32_t *end, size_t count) {
  constexpr ptrdiff_t most = 256, few = 8;
  while (count > 0 && end - begin <= most && end - begin > few) {
    const uint32_t first = *begin, middle = begin[(end - begin) / 2], last = end[-1];
    const uint32_t pivot = std::max(std::min(first, middle), std::min(std::max(first, middle), last));
    uint32_t *less = begin;
    for (uint32_t *at = begin; at != end; ++at) {
      const uint32_t number = *at;
      *at = *less;
      *less = number;
      less += number < pivot;
    }
    const auto found = static_cast<size_t>(less - begin);
    if (found > count) {
      end = less;
    } else {
      begin = less;
      count -= found;
    }
  }
  if (count < static_cast<size_t>(end - begin)) std::nth_element(begin, begin + count, end);
}

}  // namespace simjoin
