// How many tokens a set of the sample shares with another one by chance.
#pragma once

#include "pg/base/pg.hpp"

#include <cmath>

#include "pg/join/set_sketch.hpp"

namespace simjoin::pg {

// The least probability that counts.
struct Negligible {
  explicit Negligible(double probability) : minus_log(-std::log(probability)) {}

  // Returns whether it is more likely than that a sum of independent trials is so far above its mean, or so
  // far below it (by Bernstein's inequality).
  bool more_likely(double excess, double variance) const {
    return excess > 0 && excess * excess > minus_log * 2 * (variance + excess / 3);
  }

  double minus_log;
};

// What a set of the sample shares with another one of a given size: a sum of independent trials, one a token.
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
  int known_ = 0;  // of the trials, those with one of the most common tokens
  float *draws_;   // of their tokens
  float *held_;    // with which probability the other set holds it
  double rare_;    // the draw of each of the others
  double sum_of_draws_ = 0;
};

}  // namespace simjoin::pg
