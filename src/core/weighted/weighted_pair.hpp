// The similarity of one pair of weighted sets.
#pragma once

#include "core/base/worker_pool.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_sets.hpp"

namespace simjoin {

// Returns the similarity of two sets of one join, by the measure of the bounds. If it is below the threshold
// of the bounds, it may return any number below the threshold instead.
//
// Merges the sets in the order of their ranks. For weighted Jaccard similarity, ends where the weights seen
// so far are too far apart: the difference of two sets, as the sum over the tokens, is what all their weights
// exceed twice the overlap by. For the cosine, ends where the masses that remain cannot make the products of
// the weights large enough.
double weighted_similarity(const WeightedSet &l, const WeightedSet &r, WeightFormat format,
                           const WeightedBounds &bounds, const StopFlag &stop);

}  // namespace simjoin
