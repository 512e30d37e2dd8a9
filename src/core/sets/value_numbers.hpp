// Integers as numbers without a sign, in the order of the integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "core/base/interruption.hpp"
#include "core/base/long_sort.hpp"

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

// Writes the numbers of a set's values and returns whether each is larger than the one before it. Throws
// Cancelled if the caller, who must be that of the engine, gives a large set up.
template <typename Value>
bool write_numbers(std::span<const Value> values, std::make_unsigned_t<Value> *numbers) {
  const size_t count = values.size();
  bool ascending = true;
  if (count > 0) numbers[0] = number_of(values[0]);
  for (size_t i = 1; i < count;) {
    for (const size_t end = std::min(count, i + longest_short_run); i < end; ++i) {
      ascending &= values[i - 1] < values[i];
      numbers[i] = number_of(values[i]);
    }
    if (i < count) check_interruption();
  }
  return ascending;
}

// Writes the numbers of a set's distinct values to `numbers` (room for values.size()), ascending. Returns how
// many they are. Throws as write_numbers().
template <typename Value>
uint32_t distinct_numbers(std::span<const Value> values, std::make_unsigned_t<Value> *numbers,
                          const ShortSort &sort) {
  const size_t count = values.size();
  if (write_numbers(values, numbers)) return static_cast<uint32_t>(count);
  sort_long(numbers, count, sort, check_interruption);
  return static_cast<uint32_t>(leave_once(numbers, count, check_interruption));
}

}  // namespace simjoin
