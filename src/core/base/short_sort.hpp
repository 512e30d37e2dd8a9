// Sorting of the tokens of one set after the other: short runs of numbers.
#pragma once

#include <hwy/contrib/sort/vqsort.h>

#include <cstddef>
#include <cstdint>

namespace simjoin {

// Sorts runs ascending. One object sorts many runs, since making it allocates.
class ShortSort {
 public:
  // A number has 32 or 64 bits.
  template <typename Number>
  void operator()(Number *numbers, size_t count) const {
    if (count > insertion_sort_limit) {
      sorter_(numbers, count, hwy::SortAscending());
      return;
    }
    for (size_t i = 1; i < count; ++i) {
      const Number number = numbers[i];
      size_t j = i;
      for (; j > 0 && numbers[j - 1] > number; --j) numbers[j] = numbers[j - 1];
      numbers[j] = number;
    }
  }

 private:
  // For this many numbers or fewer, an insertion sort beats the dispatch of VQSort (tuned on kosarak- and
  // dblp-shaped sets, Cascade Lake).
  static constexpr size_t insertion_sort_limit = 20;

  hwy::Sorter sorter_;
};

}  // namespace simjoin
