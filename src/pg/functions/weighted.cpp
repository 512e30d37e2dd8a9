// Similarities of sets with weights as SQL functions.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <string_view>

#include "core/measure.hpp"
#include "core/weighted/exact_sum.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/tokens.hpp"
#include "pg/sets/weighted_set.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {
namespace {

// A sum in double precision, for weights whose sums that holds.
struct PlainSum {
  void add(double weight) { sum += weight; }
  double rounded() const { return sum; }

  double sum = 0;
};

// Calls visit(left weight, right weight) for each token of two sets. A missing token has the weight 0.
template <class T, class Visit>
void visit_tokens(const WeightedTokens<T> &left, const WeightedTokens<T> &right, Visit &&visit) {
  InterruptCounter interrupts;
  size_t l = 0, r = 0;
  while (l < left.count || r < right.count) {
    const WeightedToken<T> *a = l < left.count ? &left.data[l] : nullptr;
    const WeightedToken<T> *b = r < right.count ? &right.data[r] : nullptr;
    interrupts.add(comparison_cost(a != nullptr ? a->token : b->token));
    if (b == nullptr || (a != nullptr && a->token < b->token)) {
      visit(a->weight, 0.0);
      ++l;
    } else if (a == nullptr || b->token < a->token) {
      visit(0.0, b->weight);
      ++r;
    } else {
      visit(a->weight, b->weight);
      ++l;
      ++r;
    }
  }
}

// Returns the sum of the smaller weights divided by the sum of the larger ones. `Sum` adds them up exactly.
template <class Sum, class T>
double jaccard(const WeightedTokens<T> &left, const WeightedTokens<T> &right) {
  Sum least, most;
  visit_tokens(left, right, [&](double l, double r) {
    least.add(std::min(l, r));
    most.add(std::max(l, r));
  });
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
double jaccard(const WeightedTokens<T> &left, const WeightedTokens<T> &right) {
  WeightRange range = range_of(left);
  range.join(range_of(right));
  return range.sums_are_exact() ? jaccard<PlainSum>(left, right) : jaccard<ExactSum>(left, right);
}

template <class T>
double cosine(const WeightedTokens<T> &left, const WeightedTokens<T> &right) {
  ExactProducts products, left_squares, right_squares;
  visit_tokens(left, right, [&](double l, double r) {
    products.add(l, r);
    left_squares.add(l, l);
    right_squares.add(r, r);
  });
  return weighted_cosine(products.rounded(), left_squares.rounded(), right_squares.rounded());
}

// Returns the similarity of the two sets of a call, by weighted Jaccard similarity or the cosine.
Datum similarity_of_call(FunctionCallInfo fcinfo, Measure measure) {
  const char *function = weighted_function(measure);
  const SetView left = view_set(PG_GETARG_DATUM(0), function);
  ArrayType *left_array = PG_GETARG_ARRAYTYPE_P(1);
  const SetView right = view_set(PG_GETARG_DATUM(2), function);
  ArrayType *right_array = PG_GETARG_ARRAYTYPE_P(3);
  if (left.type != right.type) elog(ERROR, "%s: the sets differ in type", function);
  const float *left_weights = view_weights(left_array, left, function);
  const float *right_weights = view_weights(right_array, right, function);
  const double result = with_token_type(left.type, [&](auto token) {
    const auto l = weighted_tokens<decltype(token)>(left, left_weights);
    const auto r = weighted_tokens<decltype(token)>(right, right_weights);
    const double similarity = measure == Measure::cosine ? cosine(l, r) : jaccard(l, r);
    pfree(l.data);
    pfree(r.data);
    return similarity;
  });
  free_view(left, PG_GETARG_DATUM(0));
  PG_FREE_IF_COPY(left_array, 1);
  free_view(right, PG_GETARG_DATUM(2));
  PG_FREE_IF_COPY(right_array, 3);
  PG_RETURN_FLOAT8(result);
}

}  // namespace
}  // namespace simjoin::pg

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_weighted_jaccard_similarity);
Datum simjoin_weighted_jaccard_similarity(PG_FUNCTION_ARGS) {
  return simjoin::pg::similarity_of_call(fcinfo, simjoin::Measure::jaccard);
}

PG_FUNCTION_INFO_V1(simjoin_weighted_cosine_similarity);
Datum simjoin_weighted_cosine_similarity(PG_FUNCTION_ARGS) {
  return simjoin::pg::similarity_of_call(fcinfo, simjoin::Measure::cosine);
}
}
