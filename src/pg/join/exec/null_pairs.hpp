// Pairs of rows of which one at least has no set, where a query sorts NULL first.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// Makes the next such pair that meets the join's conditions the scan tuple. Returns false at the end, or
// where NearestPairs does not ask for them.
bool next_null_pair(JoinState *state);

}  // namespace simjoin::pg
