// The phases of a join as messages at DEBUG2, one line a phase.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// All do nothing where neither the client nor the server's log gets DEBUG2, or where the execution has no
// engine. A phase without a time, as of a join that has no such phase, has no line.

// Logs that the inputs were read, in `ms` milliseconds.
void log_input(const JoinState *state, double ms);
// Logs the order and the build, once an execution. Call it after each step that has given pairs, and at the
// end.
void log_build(JoinState *state);
// Logs the search and the way of its pairs up to now. Call it at the end of an execution.
void log_search(JoinState *state);

}  // namespace simjoin::pg
