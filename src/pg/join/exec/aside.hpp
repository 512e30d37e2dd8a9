// Rows whose arrays are no sets, in the join operator.
//
// A nested loop raises an error when it evaluates the measure for such a row. Other conditions, or a lack of
// rows on the other side, may spare the row that. So the row is set aside while the inputs are read, and
// counts as a row without a partner. Its error is raised only where one of its pairs meets the join's other
// conditions.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"
#include "pg/join/exec/row_set.hpp"

namespace simjoin::pg {

// Prepares the join's other conditions, a list, for pairs whose similarity is not known.
void init_aside(JoinState *state, List *join_quals);

// Notes the hash of the partition keys of an input's row that has a set.
void note_keys(JoinState *state, JoinInput *input, uint64_t partition);

// Returns whether a row of the input that has a set may have these keys. `partition` is their hash.
bool may_have_keys(const JoinState *state, const JoinInput &input, uint64_t partition);

// Sets the row of the input that is being read aside. `partition` is the hash of its keys.
void set_aside(JoinState *state, JoinInput *input, uint64_t partition, const RowFlaw &flaw);

// Raises the error of a row set aside that meets the conditions with any row of the other side that has a
// set. check_unmatched_left does so for right rows of semi and anti joins.
void check_rows_aside(JoinState *state);

// Raises the error of a right row set aside that meets the conditions with a left row without a partner. It
// is for semi and anti joins, once all pairs are known: a left row with a partner needs no other.
void check_unmatched_left(JoinState *state);

// The same where one side streams. begin_asides() is called when the other side has been read.
void begin_asides(JoinState *state);

// Raises the error of the streamed side's current row, which joins, or of a row set aside that meets the
// conditions with it. `partition` is the hash of its keys, `flaw` what dimensions_of_flawed() returned. Right
// rows of semi and anti joins wait until it is known which left rows have no partner.
void check_streamed_row(JoinState *state, uint64_t partition, int flaw);

// Raises the error of a right row set aside that meets the conditions with the current left row. That row has
// no partner.
void check_unmatched_streamed_left(JoinState *state, uint64_t partition);

// Raises the error of a right row that has streamed and met the conditions with a left row without a partner.
// It is called once all right rows have streamed.
void check_flaws_met(JoinState *state);

}  // namespace simjoin::pg
