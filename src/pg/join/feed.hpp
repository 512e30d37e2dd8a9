// The input of the join operator: its rows go to the engine, and what is needed of them is kept.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec.hpp"

namespace simjoin::pg {

// Returns whether a left row's first partner is all that is asked for.
bool asks_for_existence(JoinType jointype);

// Returns whether rows of the side that have no partner are rows of the result.
bool keeps_unmatched(JoinType jointype, Side side);

// Plans what is read and kept of the inputs, whose child nodes are there. `used` are the columns of the scan
// tuple, from 0, that are needed.
void init_inputs(JoinState *state, const CustomScan *plan, Bitmapset *used);

// Reads the inputs and starts the engine, unless one of them has no row.
void feed(JoinState *state);

}  // namespace simjoin::pg
