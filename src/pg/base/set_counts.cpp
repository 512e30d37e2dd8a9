#include "pg/base/set_counts.hpp"

#include <algorithm>
#include <string_view>

#include "pg/base/interruptible.hpp"

namespace simjoin::pg {
namespace {

// Tokens that are looked at between two interrupt checks.
constexpr size_t block = 1 << 16;

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
  for (size_t begin = 1; begin < count; begin += block) {
    CHECK_FOR_INTERRUPTS();
    const size_t end = std::min(count, begin + block);
    bool ascending = true;
    for (size_t i = begin; i < end; ++i) ascending &= data[i - 1] < data[i];
    if (!ascending) return false;
  }
  return true;
}
template <>
bool strictly_ascending(const std::string_view *data, size_t count) {
  InterruptCounter interrupts;
  for (size_t i = 1; i < count; ++i) {
    interrupts.add(comparison_cost(data[i]));
    if (data[i - 1] >= data[i]) return false;
  }
  return true;
}

template <class T>
SortedTokens<T> sort_copy(T *copy, size_t count) {
  if (!strictly_ascending(copy, count)) {
    sort_interruptibly(
        copy, count, [](T a, T b) { return a < b; }, [](T token) { return comparison_cost(token); });
    count = static_cast<size_t>(std::unique(copy, copy + count) - copy);
  }
  return {copy, count, copy};
}

template <class T>
SortedTokens<T> sorted_tokens(const SetView &set) {
  const T *data = static_cast<const T *>(set.data);
  if (strictly_ascending(data, set.count)) return {data, set.count, nullptr};
  T *copy = allocate<T>(set.count);
  std::copy_n(data, set.count, copy);
  return sort_copy(copy, set.count);
}

// Text is sorted as views of the array's own bytes.
template <>
SortedTokens<std::string_view> sorted_tokens(const SetView &set) {
  auto *views = allocate<std::string_view>(set.count);
  TextCursor cursor(set);
  for (size_t i = 0; i < set.count; ++i) views[i] = cursor.next();
  return sort_copy(views, set.count);
}

// Returns the number of tokens that occur in both.
template <class T>
int64_t shared_tokens(const SortedTokens<T> &left, const SortedTokens<T> &right) {
  const T *l = left.data, *l_end = l + left.count;
  const T *r = right.data, *r_end = r + right.count;
  int64_t shared = 0;
  while (l < l_end && r < r_end) {
    CHECK_FOR_INTERRUPTS();
    // This many steps lead neither past its end.
    size_t steps = std::min({static_cast<size_t>(l_end - l), static_cast<size_t>(r_end - r), block});
    for (; steps > 0; --steps) {
      const T a = *l, b = *r;
      l += a <= b;
      r += b <= a;
      shared += a == b;
    }
  }
  return shared;
}

template <>
int64_t shared_tokens(const SortedTokens<std::string_view> &left,
                      const SortedTokens<std::string_view> &right) {
  InterruptCounter interrupts;
  int64_t shared = 0;
  for (size_t l = 0, r = 0; l < left.count && r < right.count;) {
    interrupts.add(comparison_cost(left.data[l]));
    const int order = left.data[l].compare(right.data[r]);
    l += order <= 0;
    r += order >= 0;
    shared += order == 0;
  }
  return shared;
}

template <class T>
SetCounts count_tokens(const SetView &left, const SetView &right) {
  const SortedTokens<T> l = sorted_tokens<T>(left), r = sorted_tokens<T>(right);
  const SetCounts counts = {shared_tokens(l, r), static_cast<int64_t>(l.count),
                            static_cast<int64_t>(r.count)};
  if (l.copy != nullptr) pfree(l.copy);
  if (r.copy != nullptr) pfree(r.copy);
  return counts;
}

}  // namespace

SetCounts count_sets(const SetView &left, const SetView &right) {
  return with_token_type(left.type, [&](auto token) { return count_tokens<decltype(token)>(left, right); });
}

}  // namespace simjoin::pg
