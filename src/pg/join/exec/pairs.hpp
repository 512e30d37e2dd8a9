// The pairs of the join operator's engine: which pair comes next.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"
#include "pg/join/exec/scan_tuple.hpp"

namespace simjoin::pg {

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

}  // namespace simjoin::pg
