// The cut of signatures into bands for a threshold.
#pragma once

#include <cstdint>

namespace simjoin {

// Two sets are a candidate pair if all `rows` values of any of `bands` bands are equal.
struct BandPlan {
  uint32_t bands;
  uint32_t rows;
};

// Returns the probability that two sets of this similarity are a candidate pair.
double candidate_probability(const BandPlan &plan, double similarity);

// Returns the mean of that probability over all similarities from 0 to the threshold.
double false_positive_rate(const BandPlan &plan, double threshold);

// Returns the plan of at most `permutations` values with the least sum of false positives and false
// negatives; beyond 256 rows, about the least. False positives are the area below the curve of
// candidate_probability, below the threshold. False negatives are the area above the curve, beyond the
// threshold (as datasketch weighs them). 0 < threshold <= 1. Takes well below a second, and for up to 2,000
// permutations less than 100 ms.
BandPlan best_band_plan(double threshold, uint32_t permutations);

}  // namespace simjoin
