// Integers as numbers without a sign, in the order of the integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "core/base/interruption.hpp"
#include "core/sets/value_kernels.hpp"
#include "core/sort/long_sort.hpp"

namespace simjoin {

// Returns a number that compares with others as the value does.
template <typename Value>
std::make_unsigned_t<Value> number_of(Value value) {
  using Number = std::make_unsigned_t<Value>;
  return static_cast<Number>(static_cast<Number>(value) ^
                             static_cast<Number>(std::numeric_limits<Value>::min()));
}

// Returns the value of a number, number_of()'s reverse.
template <typename Number>
std::make_signed_t<Number> value_of(Number number) {
  using Value = std::make_signed_t<Number>;
  return static_cast<Value>(number ^ static_cast<Number>(std::numeric_limits<Value>::min()));
}

// Writes the numbers of values and returns how many values are not larger than the one before. Throws
// Cancelled if the caller, who must be that of the engine, gives many values up.
template <typename Value>
size_t write_numbers_by_vectors(std::span<const Value> values, std::make_unsigned_t<Value> *numbers) {
  size_t descents = 0;
  for (size_t begin = 0; begin < values.size(); begin += longest_short_run) {
    if (begin > 0) {
      check_interruption();
      descents += values[begin - 1] >= values[begin];
    }
    const size_t count = std::min(values.size() - begin, longest_short_run);
    descents += write_and_count_descents(values.data() + begin, count, numbers + begin);
  }
  return descents;
}

// Writes the numbers of a set's values and returns whether each is larger than the one before it. Throws as
// write_numbers_by_vectors().
template <typename Value>
bool write_numbers(std::span<const Value> values, std::make_unsigned_t<Value> *numbers) {
  if (values.size() >= least_by_vectors) return write_numbers_by_vectors(values, numbers) == 0;
  bool ascending = true;
  for (size_t i = 0; i < values.size(); ++i) {
    ascending &= i == 0 || values[i - 1] < values[i];
    numbers[i] = number_of(values[i]);
  }
  return ascending;
}

// Leaves each number of a set once, ascending. Returns how many they are. Throws as write_numbers().
template <typename Number>
uint32_t sort_distinct(Number *numbers, size_t count, const ShortSort &sort) {
  sort_long(numbers, count, sort, check_interruption);
  return static_cast<uint32_t>(leave_once(numbers, count, check_interruption));
}

// Writes the numbers of a set's distinct values to `numbers` (room for values.size()), ascending. Returns how
// many they are. Throws as write_numbers().
template <typename Value>
uint32_t distinct_numbers(std::span<const Value> values, std::make_unsigned_t<Value> *numbers,
                          const ShortSort &sort) {
  if (write_numbers(values, numbers)) return static_cast<uint32_t>(values.size());
  return sort_distinct(numbers, values.size(), sort);
}

}  // namespace simjoin
