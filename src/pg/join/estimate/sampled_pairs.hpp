// What a similarity clause costs, judged by a sample of the sets of both sides.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/measure.hpp"
#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// What is counted among the pairs of the sample's rows.
struct SampledPairs {
  double pairs;       // all
  double postings;    // of prefixes' tokens that both sets have
  double candidates;  // pairs with such a token that the engine's cheap filters do not rule out
  double similar;     // satisfy the clause
  double tokens[2];   // of a left and a right row, on average

  // Returns the share of the pairs of rows that so many of the sample stand for. Few pairs do not show in a
  // sample: what the planner assumes counts up to one pair of it.
  double share_of(double counted, double assumed) const {
    return Max(counted / pairs, Min(assumed, 1 / pairs));
  }
};

// Counts for the clause, with a bound. The samples are drawn once while the query is planned. Returns NULL,
// or why there are no samples. Weights count as 1.
const char *count_sampled_pairs(PlannerInfo *root, const SimilarityClause &clause, const Bounds &bounds,
                                SampledPairs *counts);

}  // namespace simjoin::pg
