// Sorting of the tokens of one set after the other: short runs of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simjoin {

// Sorts runs ascending. One object sorts many runs, since making it allocates. It serves one thread.
class ShortSort {
 public:
  // A number has 32 or 64 bits. `to` may be `from`; otherwise they do not overlap.
  template <typename Number>
  void operator()(const Number *from, size_t count, Number *to) const;
  // Sorts a run in its place.
  template <typename Number>
  void operator()(Number *numbers, size_t count) const {
    (*this)(numbers, count, numbers);
  }

 private:
  template <typename Number>
  Number *room(size_t count) const;

  mutable std::vector<uint64_t> room_;  // for the numbers of a long run
};

}  // namespace simjoin
