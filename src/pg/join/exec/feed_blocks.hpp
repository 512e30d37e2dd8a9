// The rows of a block, many at a time on their way into the engine.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// Feeds the engine the next rows of the input's block and keeps their columns, up to the first row that needs
// a look of its own: one with a NULL, or whose set is empty or none. Feeds none where sets do not go to the
// engine as they are.
void feed_rows_of_block(JoinState *state, Side side);

}  // namespace simjoin::pg
