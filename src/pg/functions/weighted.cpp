// Weighted Jaccard similarity as a SQL function.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

#include <algorithm>
#include <string_view>

#include "pg/base/interruptible.hpp"
#include "pg/base/set_codec.hpp"
#include "pg/base/weights.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function_name = "weighted_jaccard_similarity";

template <class T>
struct WeightedToken {
  T token;
  double weight;
};

// Distinct tokens, ascending, each with the sum of its weights.
template <class T>
struct WeightedSet {
  WeightedToken<T> *data;
  size_t count;
};

// Returns whether a comes before b: by token, and by weight where tokens are equal, so that sums do not
// depend on the order of the input.
template <class T>
bool in_order(const WeightedToken<T> &a, const WeightedToken<T> &b) {
  return a.token < b.token || (a.token == b.token && a.weight < b.weight);
}

template <class T>
WeightedSet<T> weighted_set(const SetView &set, const float *weights) {
  WeightedSet<T> result = {allocate<WeightedToken<T>>(set.count), set.count};
  TokenCursor tokens(set);
  bool ascending = true;
  InterruptCounter interrupts;
  for (size_t i = 0; i < set.count; ++i) {
    const T token = tokens.next_as<T>();
    result.data[i] = {token, static_cast<double>(weights[i])};
    if (i == 0) continue;
    interrupts.add(comparison_cost(token));
    ascending &= result.data[i - 1].token < token;
  }
  if (ascending) return result;
  sort_interruptibly(result.data, result.count, in_order<T>,
                     [](const WeightedToken<T> &entry) { return comparison_cost(entry.token); });
  size_t last = 0;
  for (size_t i = 1; i < result.count; ++i) {
    interrupts.add(comparison_cost(result.data[i].token));
    if (result.data[i].token == result.data[last].token)
      result.data[last].weight += result.data[i].weight;
    else
      result.data[++last] = result.data[i];
  }
  result.count = last + 1;
  return result;
}

// Returns the sum of the smaller weights divided by the sum of the larger ones, 0 where no weight is above 0.
template <class T>
double compare(const WeightedSet<T> &left, const WeightedSet<T> &right) {
  InterruptCounter interrupts;
  double least = 0, most = 0;
  size_t l = 0, r = 0;
  while (l < left.count || r < right.count) {
    const WeightedToken<T> *a = l < left.count ? &left.data[l] : nullptr;
    const WeightedToken<T> *b = r < right.count ? &right.data[r] : nullptr;
    interrupts.add(comparison_cost(a != nullptr ? a->token : b->token));
    if (b == nullptr || (a != nullptr && a->token < b->token)) {
      most += a->weight;
      ++l;
    } else if (a == nullptr || b->token < a->token) {
      most += b->weight;
      ++r;
    } else {
      least += std::min(a->weight, b->weight);
      most += std::max(a->weight, b->weight);
      ++l;
      ++r;
    }
  }
  return most > 0 ? least / most : 0.0;
}

template <class T>
double compare_sets(const SetView &left, const float *left_weights, const SetView &right,
                    const float *right_weights) {
  const WeightedSet<T> l = weighted_set<T>(left, left_weights), r = weighted_set<T>(right, right_weights);
  const double result = compare(l, r);
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
