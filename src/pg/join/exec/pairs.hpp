// The pairs of the join operator's engine, as joined rows: which pair comes next, and its columns.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/exec.hpp"

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

// Goes on to a phase, from its first row on.
void enter(JoinState *state, JoinPhase phase);

// Goes on to the next kind of pairs. Returns false where all kinds are done. Pairs of a row with itself come
// first, before the engine begins, so that a LIMIT that they satisfy does not wait for it.
bool enter_next_pairs(JoinState *state);

// Gives the next pair of rows that satisfies the similarity clause. Returns false at the end.
bool next_pair(JoinState *state, JoinPair *pair);

// Notes that the pair, which was given last, satisfies clauses that hold one way round at most. It is not
// given the other way round. Where row numbers and the clauses' columns ascend together, or against each
// other, this is the first way of the next pairs as well.
void end_one_way(JoinState *state, const JoinPair &pair);

// Stores the pair as the node's scan tuple. A row without a partner has no_row on the other side.
void fill_scan_tuple(JoinState *state, const JoinPair &pair);

}  // namespace simjoin::pg
