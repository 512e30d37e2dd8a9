// The distinct tokens of a set in ascending order.
#pragma once

#include "pg/base/pg.hpp"

#include <algorithm>
#include <string_view>

#include "pg/base/growing_array.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {

// Distinct tokens, ascending: the array's own, or a copy.
template <class T>
struct SortedTokens {
  const T *data;
  size_t count;
  T *copy;  // to be freed; NULL where data is the array's
};

// Returns whether each token is greater than the one before it.
template <class T>
bool strictly_ascending(const T *data, size_t count) {
  for (size_t begin = 1; begin < count; begin += token_block) {
    check_interrupts();
    const size_t end = std::min(count, begin + token_block);
    bool ascending = true;
    for (size_t i = begin; i < end; ++i) ascending &= data[i - 1] < data[i];
    if (!ascending) return false;
  }
  return true;
}
template <>
inline bool strictly_ascending(const std::string_view *data, size_t count) {
  InterruptCounter interrupts;
  for (size_t i = 1; i < count; ++i) {
    interrupts.add(comparison_cost(data[i]));
    if (data[i - 1] >= data[i]) return false;
  }
  return true;
}

// Leaves the first of equal tokens, which are beside each other. Returns how many are left.
template <class T>
size_t leave_first_of_equals(T *tokens, size_t count) {
  InterruptCounter interrupts;
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    interrupts.add(comparison_cost(tokens[i]));
    if (kept == 0 || tokens[kept - 1] != tokens[i]) tokens[kept++] = tokens[i];
  }
  return kept;
}

// Sorts the copy, which the result then owns.
template <class T>
SortedTokens<T> sort_copy(T *copy, size_t count) {
  if (!strictly_ascending(copy, count)) {
    sort_interruptibly(
        copy, count, [](T a, T b) { return a < b; }, [](T token) { return comparison_cost(token); });
    count = leave_first_of_equals(copy, count);
  }
  return {copy, count, copy};
}

// Returns the distinct tokens of the set, ascending. T is the type of the tokens. Processes interrupts.
template <class T>
SortedTokens<T> sorted_tokens(const SetView &set) {
  const T *data = static_cast<const T *>(set.data);
  if (strictly_ascending(data, set.count)) return {data, set.count, nullptr};
  T *copy = allocate<T>(set.count);
  copy_tokens(data, set.count, copy);
  return sort_copy(copy, set.count);
}

// Text is sorted as views of the array's own bytes.
template <>
inline SortedTokens<std::string_view> sorted_tokens(const SetView &set) {
  auto *views = allocate<std::string_view>(set.count);
  TextCursor cursor(set);
  InterruptCounter interrupts;
  for (size_t i = 0; i < set.count; ++i) {
    views[i] = cursor.next();
    interrupts.add(comparison_cost(views[i]));
  }
  return sort_copy(views, set.count);
}

template <class T>
void free_tokens(const SortedTokens<T> &tokens) {
  if (tokens.copy != nullptr) pfree(tokens.copy);
}

}  // namespace simjoin::pg
