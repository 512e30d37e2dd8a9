// Long loops and sorts that can be interrupted.
#pragma once

#include "pg/base/pg.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <type_traits>

#include "pg/base/growing_array.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {

// Tokens that are looked at between two interrupt checks.
inline constexpr size_t token_block = 1 << 16;

// Processes interrupts each time that work of some milliseconds has been reported, in units of about a
// nanosecond.
class InterruptCounter {
 public:
  void add(size_t work) {
    work_ += work;
    if (work_ < interval) return;
    work_ = 0;
    check_interrupts();
  }

 private:
  static constexpr size_t interval = 1 << 22;
  size_t work_ = 0;
};

// Copies numbers or views of texts. Processes interrupts.
template <class T>
void copy_tokens(const T *from, size_t count, T *to) {
  for (size_t begin = 0; begin < count; begin += token_block) {
    check_interrupts();
    std::copy_n(from + begin, std::min(token_block, count - begin), to + begin);
  }
}

// Returns the most that a comparison with the token costs, in the units of InterruptCounter.
inline size_t comparison_cost(int64_t) {
  return 1;
}
inline size_t comparison_cost(std::string_view token) {
  return 4 + token.size();
}

// Sorting this many numbers takes a few milliseconds.
constexpr size_t uninterrupted_sort = 1 << 16;

// Sorts by less(a, b). cost(element) is the cost of a comparison with the element. Interrupts are processed,
// so an ERROR may leave the data half sorted. Elements are trivial, so that an ERROR leaves nothing behind.
template <class T, class Less, class Cost>
void sort_interruptibly(T *data, size_t n, Less less, Cost cost) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  if constexpr (std::is_arithmetic_v<T>)
    if (n <= uninterrupted_sort) return std::sort(data, data + n, less);
  InterruptCounter interrupts;
  std::sort(data, data + n, [&](const T &a, const T &b) {
    interrupts.add(cost(a));
    return less(a, b);
  });
}

// Puts the `first` smallest of n numbers in front, ascending. Processes interrupts.
template <class T>
void sort_first_interruptibly(T *data, size_t first, size_t n) {
  static_assert(std::is_arithmetic_v<T>);
  const auto cost = [](T) { return size_t{1}; };
  if (first < n && n <= uninterrupted_sort) {
    std::nth_element(data, data + first, data + n);
  } else if (first < n) {
    InterruptCounter interrupts;
    std::nth_element(data, data + first, data + n, [&](T a, T b) {
      interrupts.add(1);
      return a < b;
    });
  }
  sort_interruptibly(data, first, std::less<>(), cost);
}

}  // namespace simjoin::pg
