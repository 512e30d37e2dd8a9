// The columns of a pair of rows of the join operator, as the scan tuple of its node.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// A pair of rows that satisfies the similarity clause.
struct JoinPair {
  uint32_t left;
  uint32_t right;
  uint32_t overlap;
  double similarity = 0;  // of a weighted join's pairs of different rows
};

// Stands for an overlap that is not known. The similarity of the pair is then NULL.
inline constexpr uint32_t unknown_overlap = UINT32_MAX;

// Returns whether all pairs of a row with itself are alike. They are where empty sets match nothing. Such
// pairs need not wait for the engine, which knows how many tokens a set has.
bool same_rows_are_alike(const JoinState *state);

// Returns the weighted similarity of a row with itself.
double own_similarity(const JoinState *state, uint32_t row);

// Stores the pair as the node's scan tuple. A row without a partner has no_row on the other side.
void fill_scan_tuple(JoinState *state, const JoinPair &pair);

}  // namespace simjoin::pg
