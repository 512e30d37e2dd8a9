// The inputs of the join operator: which columns are read and kept, and the next row.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// Plans which columns of the inputs are read and kept. The child nodes have been initialized. `used` are the
// columns of the scan tuple, from 0, that are needed.
void init_inputs(JoinState *state, const CustomScan *plan, Bitmapset *used);

// Prepares the inputs that come in blocks. The child nodes have been initialized.
void init_block_inputs(JoinState *state, EState *estate);

// Returns the child's next row, NULL at its end.
TupleTableSlot *next_row(JoinInput *input);

// Gets the columns of the child's row that are kept.
void read_kept_columns(JoinInput *input, TupleTableSlot *slot);

}  // namespace simjoin::pg
