// The similarity of one pair of weighted sets.
#pragma once

#include "core/base/worker_pool.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// Returns the weighted Jaccard similarity of two sets of one join. If it is below the threshold of the
// bounds, it may return any number below the threshold instead. `exact` is set in joins that need exact
// totals.
//
// Merges the sets in the order of their ranks, and ends where the weights seen so far are too far apart: the
// difference of two sets, as the sum over the tokens, is what all their weights exceed twice the overlap by.
double weighted_similarity(const WeightedSet &l, const WeightedSet &r, WeightFormat format,
                           const WeightedBounds &bounds, const StopFlag &stop);

}  // namespace simjoin
