// Weighted Jaccard similarity as a SQL function.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <string_view>

#include "core/weighted/exact_sum.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/set_codec.hpp"
#include "pg/base/weighted_set.hpp"
#include "pg/base/weights.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function_name = "weighted_jaccard_similarity";

// A sum in double precision, for weights whose sums that holds.
struct PlainSum {
  void add(double weight) { sum += weight; }
  double rounded() const { return sum; }

  double sum = 0;
};

// Returns the sum of the smaller weights divided by the sum of the larger ones. `Sum` adds them up exactly.
template <class Sum, class T>
double compare(const WeightedTokens<T> &left, const WeightedTokens<T> &right) {
  InterruptCounter interrupts;
  Sum least, most;
  size_t l = 0, r = 0;
  while (l < left.count || r < right.count) {
    const WeightedToken<T> *a = l < left.count ? &left.data[l] : nullptr;
    const WeightedToken<T> *b = r < right.count ? &right.data[r] : nullptr;
    interrupts.add(comparison_cost(a != nullptr ? a->token : b->token));
    if (b == nullptr || (a != nullptr && a->token < b->token)) {
      most.add(a->weight);
      ++l;
    } else if (a == nullptr || b->token < a->token) {
      most.add(b->weight);
      ++r;
    } else {
      least.add(std::min(a->weight, b->weight));
      most.add(std::max(a->weight, b->weight));
      ++l;
      ++r;
    }
  }
  return weighted_jaccard(least.rounded(), most.rounded());
}

template <class T>
WeightRange range_of(const WeightedTokens<T> &set) {
  InterruptCounter interrupts;
  WeightRange range;
  for (size_t i = 0; i < set.count; ++i) {
    interrupts.add(1);
    range.add(set.data[i].weight);
  }
  return range;
}

template <class T>
double compare_sets(const SetView &left, const float *left_weights, const SetView &right,
                    const float *right_weights) {
  const WeightedTokens<T> l = weighted_tokens<T>(left, left_weights);
  const WeightedTokens<T> r = weighted_tokens<T>(right, right_weights);
  WeightRange range = range_of(l);
  range.join(range_of(r));
  const double result = range.sums_are_exact() ? compare<PlainSum>(l, r) : compare<ExactSum>(l, r);
  pfree(l.data);
  pfree(r.data);
  return result;
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_weighted_jaccard_similarity);
Datum simjoin_weighted_jaccard_similarity(PG_FUNCTION_ARGS) {
  const SetView left = view_set(PG_GETARG_DATUM(0), function_name);
  ArrayType *left_array = PG_GETARG_ARRAYTYPE_P(1);
  const SetView right = view_set(PG_GETARG_DATUM(2), function_name);
  ArrayType *right_array = PG_GETARG_ARRAYTYPE_P(3);
  if (left.type != right.type) elog(ERROR, "%s: the sets differ in type", function_name);
  const float *left_weights = view_weights(left_array, left, function_name);
  const float *right_weights = view_weights(right_array, right, function_name);
  const double result = with_token_type(left.type, [&](auto token) {
    return compare_sets<decltype(token)>(left, left_weights, right, right_weights);
  });
  free_view(left, PG_GETARG_DATUM(0));
  PG_FREE_IF_COPY(left_array, 1);
  free_view(right, PG_GETARG_DATUM(2));
  PG_FREE_IF_COPY(right_array, 3);
  PG_RETURN_FLOAT8(result);
}
}
