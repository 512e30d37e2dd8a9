// Bands for joins that are to find a given share of the similar pairs.
#pragma once

#include <cstdint>

#include "core/measure.hpp"
#include "core/minhash/minhash_plan.hpp"

namespace simjoin {

// Returns the least Jaccard similarity that two sets can have whose similarity by the measure is `threshold`,
// 0 < threshold <= 1: MinHash finds pairs by that one. 0 for the measure overlap, which tells nothing of it.
double least_jaccard(Measure measure, double threshold);

// Returns the plan by which at least this share of the pairs of this Jaccard similarity become candidates
// with the fewest candidates among less similar pairs. Where so many permutations do not suffice, the plan of
// the highest recall: bands of one row. 0 < jaccard <= 1.
BandPlan plan_for_recall(double jaccard, double recall, uint32_t permutations);

}  // namespace simjoin
