#include "core/sort/short_sort.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/sort/sort_kernels.hpp"

namespace simjoin {
namespace {

// Runs of more numbers are sorted in their place. Places have 16 bits.
constexpr size_t most_by_digits = UINT16_MAX;
// Digits have up to this many bits. From the second figure on, runs are long enough for the larger ones
// (tuned on orkut- and twitter-shaped sets, Zen 4).
constexpr int small_digit_bits = 8, large_digit_bits = 11;
constexpr size_t least_for_large_digits = 2048;

// Sorts by one digit after the other, the lowest first. `room` is for as many numbers. `bits` are those of
// the largest number.
template <typename Number>
void sort_by_digits(const Number *from, size_t count, Number *to, Number *room, int bits) {
  const int most = count < least_for_large_digits ? small_digit_bits : large_digit_bits;
  const int digits = (bits + most - 1) / most, digit_bits = (bits + digits - 1) / digits;
  const size_t values = size_t{1} << digit_bits;
  uint16_t next[size_t{1} << large_digit_bits];
  // The last digit takes the numbers to their place. The first one must not read from there.
  if (from == to && digits % 2 != 0) from = std::copy_n(from, count, room) - count;
  for (int digit = 0; digit < digits; ++digit) {
    const auto value_of = [&](Number number) { return number >> digit * digit_bits & (values - 1); };
    std::memset(next, 0, values * sizeof next[0]);
    for (size_t i = 0; i < count; ++i) ++next[value_of(from[i])];
    uint16_t placed = 0;
    for (size_t value = 0; value < values; ++value) placed += std::exchange(next[value], placed);
    Number *const sorted = (digits - digit) % 2 != 0 ? to : room;
    for (size_t i = 0; i < count; ++i) sorted[next[value_of(from[i])]++] = from[i];
    from = sorted;
  }
}

}  // namespace

template <typename Number>
Number *ShortSort::room(size_t count) const {
  const size_t words = (count * sizeof(Number) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  if (room_.size() < words) room_ = std::vector<uint64_t>(words);
  return reinterpret_cast<Number *>(room_.data());
}

template <typename Number>
void ShortSort::operator()(const Number *from, size_t count, Number *to) const {
  if (sort_in_registers(from, count, to)) return;
  if (count > most_by_digits) {
    if (from != to) std::copy_n(from, count, to);
    hwy::Sorter()(to, count, hwy::SortAscending());
    return;
  }
  Number all = 0;
  for (size_t i = 0; i < count; ++i) all |= from[i];
  const int bits = std::max(1, static_cast<int>(std::bit_width(all)));
  sort_by_digits(from, count, to, room<Number>(count), bits);
}

template void ShortSort::operator()(const uint32_t *, size_t, uint32_t *) const;
template void ShortSort::operator()(const uint64_t *, size_t, uint64_t *) const;

}  // namespace simjoin
