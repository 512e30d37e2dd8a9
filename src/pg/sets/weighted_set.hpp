// Sets with weights from PostgreSQL arrays: distinct tokens, each with the sum of its weights.
#pragma once

#include "pg/base/pg.hpp"

#include <span>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/dedup/set_copies.hpp"
#include "core/join.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {

template <class T>
struct WeightedToken {
  T token;
  double weight;
};

// Distinct tokens, ascending, palloc'ed.
template <class T>
struct WeightedTokens {
  WeightedToken<T> *data;
  size_t count;
};

// Returns the tokens of a set, each with the sum of its weights in double precision. The weights of a
// repeated token are added up in ascending order, so the sum does not depend on the order of the arrays.
// Processes interrupts.
template <class T>
WeightedTokens<T> weighted_tokens(const SetView &set, const float *weights) {
  WeightedTokens<T> result = {allocate<WeightedToken<T>>(set.count), set.count};
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
  sort_interruptibly(
      result.data, result.count,
      [](const WeightedToken<T> &a, const WeightedToken<T> &b) {
        return a.token < b.token || (a.token == b.token && a.weight < b.weight);
      },
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

// Calls body(tokens, weights), within call_cpp, for the tokens and sums that weighted_tokens() returns.
template <class Body>
void with_weighted_tokens(const SetView &set, const float *weights, Body &&body) {
  with_token_type(set.type, [&](auto token) {
    using T = decltype(token);
    const WeightedTokens<T> distinct = weighted_tokens<T>(set, weights);
    call_cpp([&] {
      std::vector<T> tokens;
      std::vector<double> sums;
      tokens.reserve(distinct.count);
      sums.reserve(distinct.count);
      for (size_t i = 0; i < distinct.count; ++i) {
        check_interruption_at(i);
        tokens.push_back(distinct.data[i].token);
        sums.push_back(distinct.data[i].weight);
      }
      body(std::span<const T>(tokens), std::span<const double>(sums));
    });
    pfree(distinct.data);
  });
}

// Adds a set with its weights as the next row of a side. If `partition` is not NULL, tokens are
// PartitionedTokens. If `copies` is not NULL, it gets
// the set, and the join only if the set is to be joined. Processes interrupts. Raises the engine's errors as
// PostgreSQL errors.
void feed_weighted_set(JoinEngine *join, Side side, const SetView &set, const float *weights,
                       const uint64_t *partition, SetCopies *copies = nullptr);

}  // namespace simjoin::pg
