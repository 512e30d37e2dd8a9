// How many tokens a set of the sample shares with another one by chance.
#pragma once

#include "pg/base/pg.hpp"

#include <cmath>

#include "pg/join/estimate/set_sketch.hpp"

namespace simjoin::pg {

// A probability below which events do not count.
struct Negligible {
  explicit Negligible(double probability) : minus_log(-std::log(probability)) {}

  // Returns whether it is surely more likely than a sum of independent trials that exceeds its mean by
  // `excess`, or falls short of it by that. Bernstein's inequality tells.
  bool more_likely(double excess, double variance) const {
    return excess > 0 && excess * excess > minus_log * 2 * (variance + excess / 3);
  }

  double minus_log;
};

// The number of tokens that a set of the sample shares with another set of a given size: a sum of independent
// trials, one for each token.
class SharedTokens {
 public:
  // Allocates in the current memory context.
  SharedTokens(const SampleSet &set, const TokenDraws &draws);

  // Returns the probability that at least `needed` tokens are shared; 0 where it is negligible.
  double at_least(int needed, double other_size, const Negligible &negligible);

 private:
  void count(bool failures, int most, double rare, double *counts) const;
  double exactly_at_least(int needed, int most_shared, double other_size, double rare, double mean,
                          double variance) const;

  int trials_;
  int known_ = 0;  // trials with one of the most common tokens
  float *draws_;   // the draws of their tokens
  float *held_;    // the probabilities that the other set holds them
  double rare_;    // the draw of each other token
  double sum_of_draws_ = 0;
};

}  // namespace simjoin::pg
