// Bands for joins that must find a given share of the similar pairs.
#pragma once

#include <cstdint>

#include "core/measure.hpp"
#include "core/minhash/minhash_plan.hpp"

namespace simjoin {

// Returns the least Jaccard similarity, by which MinHash finds pairs, of two sets whose similarity by
// `measure` is `threshold`. 0 < threshold <= 1. Returns 0 for measures that give no bound, since a
// small set within a large one can reach them.
double least_jaccard(Measure measure, double threshold);

// Returns the plan by which at least the share `recall` of the pairs of this Jaccard similarity become
// candidates, with the fewest candidates among less similar pairs. If `permutations` do not suffice, returns
// the plan of the highest recall: bands of one row. 0 < jaccard <= 1.
BandPlan plan_for_recall(double jaccard, double recall, uint32_t permutations);

}  // namespace simjoin
