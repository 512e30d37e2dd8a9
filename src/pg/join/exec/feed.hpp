// The input of the join operator: its rows go to the engine, and their columns that are needed later are
// kept.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// Reads the inputs. Starts the engine, unless one of them has no row. If one side is small, only that one is
// read: the other one streams (stream.hpp).
void feed(JoinState *state);

}  // namespace simjoin::pg
