// The input of the join operator: its rows go to the engine, and their columns that are needed later are
// kept.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/exec.hpp"

namespace simjoin::pg {

// Returns whether the join asks only if a left row has a partner.
bool asks_for_existence(JoinType jointype);

// Returns whether rows of the side that have no partner are rows of the result.
bool keeps_unmatched(JoinType jointype, Side side);

// Plans which columns of the inputs are read and kept. The child nodes have been initialized. `used` are the
// columns of the scan tuple, from 0, that are needed.
void init_inputs(JoinState *state, const CustomScan *plan, Bitmapset *used);

// Prepares the inputs that come in blocks. The child nodes have been initialized.
void init_block_inputs(JoinState *state, EState *estate);

// Reads the inputs. Starts the engine, unless one of them has no row. If one side is small, only that one is
// read: the other one streams (stream.hpp).
void feed(JoinState *state);

// Returns the child's next row, NULL at its end.
TupleTableSlot *next_row(JoinInput *input);

// Gets the columns of the child's row that are kept.
void read_kept_columns(JoinInput *input, TupleTableSlot *slot);

}  // namespace simjoin::pg
