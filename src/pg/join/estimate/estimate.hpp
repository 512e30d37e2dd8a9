// How many pairs of sets are similar, estimated from PostgreSQL's statistics.
#pragma once

#include "pg/base/pg.hpp"

#include "core/measure.hpp"
#include "pg/join/estimate/set_statistics.hpp"

namespace simjoin::pg {

// Shares of the rows, or pairs of rows, whose sets are not NULL.
struct SimilarityEstimate {
  double pairs;         // pairs that satisfy the bounds
  double matched_rows;  // left rows that satisfy them with at least one right row; set where asked for
};

// Returns the estimate. With `self` both sides are the same rows, and a row paired with itself does not
// count. Allocates in the current memory context.
SimilarityEstimate estimate_similarity(const SetStatistics &left, const SetStatistics &right,
                                       const Bounds &bounds, bool self, bool with_matched_rows);

// Returns the share of the rows that satisfy the bounds with themselves.
double self_similar_rows(const SetStatistics &statistics, const Bounds &bounds);

}  // namespace simjoin::pg
