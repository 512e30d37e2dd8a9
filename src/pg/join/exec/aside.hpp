// Rows whose arrays are no sets, in the join operator.
//
// A nested loop raises an error when it evaluates the measure for such a row. Other conditions, or a lack of
// rows on the other side, may spare the row that. So the row is set aside while the inputs are read, and
// counts as a row without a partner. Its error is raised only where one of its pairs meets the join's other
// conditions.
//
// A pair counts that a nested loop would evaluate. In semi and anti joins a left row with a partner needs no
// other, so right rows meet only left rows without one, once all pairs are known.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"
#include "pg/join/exec/row_set.hpp"

namespace simjoin::pg {

// Prepares the join's other conditions, a list, for pairs whose similarity is not known.
void init_aside(JoinState *state, List *join_quals);

// Sets aside the row of the side that is being read. Its set joins and has a flaw.
void set_aside(JoinState *state, Side side, const RowSet &set);

// Raises the error of a row set aside, as far as that is due before the first pair. The inputs have been
// read, but for a side that streams.
void begin_aside(JoinState *state);

// The same for the current row of the side that streams: of its own error, and of those that are due with it.
void check_streamed_row(JoinState *state, const RowSet &set);

// The same once it is known that this row has no partner.
void check_unmatched_streamed_row(JoinState *state);

// The same once all pairs are known.
void end_aside(JoinState *state);

// Forgets the rows of the execution.
void discard_aside(JoinState *state);

}  // namespace simjoin::pg
