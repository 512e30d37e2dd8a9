#include "pg/sets/set_counts.hpp"

#include <algorithm>
#include <string_view>

#include "pg/base/interrupts.hpp"
#include "pg/sets/sorted_tokens.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

// Returns the number of tokens that occur in both.
template <class T>
int64_t shared_tokens(const SortedTokens<T> &left, const SortedTokens<T> &right) {
  const T *l = left.data, *l_end = l + left.count;
  const T *r = right.data, *r_end = r + right.count;
  int64_t shared = 0;
  while (l < l_end && r < r_end) {
    check_interrupts();
    // This many steps lead neither past its end.
    size_t steps = std::min({static_cast<size_t>(l_end - l), static_cast<size_t>(r_end - r), token_block});
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
  free_tokens(l);
  free_tokens(r);
  return counts;
}

}  // namespace

SetCounts count_sets(const SetView &left, const SetView &right) {
  return with_token_type(left.type, [&](auto token) { return count_tokens<decltype(token)>(left, right); });
}

}  // namespace simjoin::pg
