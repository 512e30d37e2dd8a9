// The similarity measures as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <string_view>

#include "core/measure.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/set_codec.hpp"
#include "pg/base/settings.hpp"

namespace simjoin::pg {
namespace {

// Tokens that are looked at between two interrupt checks.
constexpr size_t block = 1 << 16;

// How many tokens two sets share, and how many each has.
struct Counts {
  int64_t overlap;
  int64_t left;
  int64_t right;
};

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
Counts count_tokens(const SetView &left, const SetView &right) {
  const SortedTokens<T> l = sorted_tokens<T>(left), r = sorted_tokens<T>(right);
  const Counts counts = {shared_tokens(l, r), static_cast<int64_t>(l.count), static_cast<int64_t>(r.count)};
  if (l.copy != nullptr) pfree(l.copy);
  if (r.copy != nullptr) pfree(r.copy);
  return counts;
}

// Returns the figures of the call's two arguments. `function` is its SQL name.
Counts count_arguments(FunctionCallInfo fcinfo, const char *function) {
  const Datum left_array = PG_GETARG_DATUM(0), right_array = PG_GETARG_DATUM(1);
  const SetView left = view_set(left_array, function), right = view_set(right_array, function);
  if (left.type != right.type) elog(ERROR, "%s: the sets differ in type", function);
  const Counts counts =
      with_token_type(left.type, [&](auto token) { return count_tokens<decltype(token)>(left, right); });
  free_view(left, left_array);
  free_view(right, right_array);
  return counts;
}

double similarity_of(Measure measure, const Counts &counts) {
  return similarity(measure, counts.overlap, counts.left, counts.right);
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_jaccard_similarity);
Datum simjoin_jaccard_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::jaccard, count_arguments(fcinfo, "jaccard_similarity")));
}

PG_FUNCTION_INFO_V1(simjoin_cosine_similarity);
Datum simjoin_cosine_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::cosine, count_arguments(fcinfo, "cosine_similarity")));
}

PG_FUNCTION_INFO_V1(simjoin_dice_similarity);
Datum simjoin_dice_similarity(PG_FUNCTION_ARGS) {
  PG_RETURN_FLOAT8(similarity_of(Measure::dice, count_arguments(fcinfo, "dice_similarity")));
}

PG_FUNCTION_INFO_V1(simjoin_overlap_count);
Datum simjoin_overlap_count(PG_FUNCTION_ARGS) {
  PG_RETURN_INT32(static_cast<int32>(count_arguments(fcinfo, "overlap_count").overlap));
}

PG_FUNCTION_INFO_V1(simjoin_jaccard_distance);
Datum simjoin_jaccard_distance(PG_FUNCTION_ARGS) {
  const Counts counts = count_arguments(fcinfo, "jaccard_distance");
  PG_RETURN_FLOAT8(jaccard_distance(counts.overlap, counts.left, counts.right));
}

PG_FUNCTION_INFO_V1(simjoin_similar);
Datum simjoin_similar(PG_FUNCTION_ARGS) {
  const Counts counts = count_arguments(fcinfo, "sets_similar");
  PG_RETURN_BOOL(similarity_of(Settings::measure(), counts) >= Settings::similarity_threshold());
}

PG_FUNCTION_INFO_V1(simjoin_text_is_no_set);
Datum simjoin_text_is_no_set(PG_FUNCTION_ARGS) {
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: a set is an array of type integer[], bigint[] or text[], and not a text",
                         get_func_name(fcinfo->flinfo->fn_oid)),
                  errhint("Give literals and parameters their type, as in '{1,2}'::integer[] or $1::text[]. "
                          "A set of the pieces or words of a text is made as in shingles(body) or "
                          "string_to_array(body, ' ').")));
  PG_RETURN_NULL();
}
}
