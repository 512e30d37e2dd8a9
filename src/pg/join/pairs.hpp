// The pairs of the join operator's engine, as joined rows: which pair comes next, and its columns.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec.hpp"

namespace simjoin::pg {

// A pair of rows that satisfies the similarity clause.
struct JoinPair {
  uint32_t left;
  uint32_t right;
  uint32_t overlap;
};

// In place of the overlap of two sets that is not known: their similarity is NULL then.
inline constexpr uint32_t unknown_overlap = UINT32_MAX;

// Goes on to a phase, from its first row on.
void enter(JoinState *state, JoinPhase phase);

// Goes on to the next kind of pairs; false where there is none. Those of a row with itself come first, before
// the engine begins: a LIMIT that they satisfy does not wait for it.
bool enter_next_pairs(JoinState *state);

// Gives the next pair of rows that satisfies the similarity clause; false once there is no more.
bool next_pair(JoinState *state, JoinPair *pair);

// Stores the pair (with no_row on one side: a row without a partner) as the node's scan tuple.
void fill_scan_tuple(JoinState *state, const JoinPair &pair);

}  // namespace simjoin::pg
