// Rows whose arrays are no sets, in the join operator.
//
// A nested loop raises an error when it evaluates the measure for such a row, which other conditions or a
// lack of rows on the other side may spare it. So it is set aside while the inputs are read, as a row without
// a partner, and its error raised only where a pair of it meets the join's other conditions.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec.hpp"

namespace simjoin::pg {

// Prepares the join's other conditions, as a list, for pairs whose similarity is not known.
void init_aside(JoinState *state, List *join_quals);

// Notes the hash of the partition keys of an input's row that has a set.
void note_keys(JoinState *state, JoinInput *input, uint64_t partition);

// Sets the input's row that is being read aside; `partition` is the hash of its keys, `dimensions` as of
// dimensions_of_flawed().
void set_aside(JoinState *state, JoinInput *input, uint64_t partition, int dimensions);

// Raises the error of a row set aside that meets the conditions with any row of the other side that has a
// set. Right rows of semi and anti joins are left to check_unmatched_left.
void check_rows_aside(JoinState *state);

// For a semi or anti join, once all its pairs are known: raises the error of a right row set aside that meets
// the conditions with a left row without a partner. Those that have one need no other.
void check_unmatched_left(JoinState *state);

}  // namespace simjoin::pg
