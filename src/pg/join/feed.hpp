// The input of the join operator: its rows go to the engine, and their columns that are needed later are
// kept.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec.hpp"

namespace simjoin::pg {

// Returns whether the join asks only if a left row has a partner.
bool asks_for_existence(JoinType jointype);

// Returns whether rows of the side that have no partner are rows of the result.
bool keeps_unmatched(JoinType jointype, Side side);

// Plans which columns of the inputs are read and kept. The child nodes have been initialized. `used` are the
// columns of the scan tuple, from 0, that are needed.
void init_inputs(JoinState *state, const CustomScan *plan, Bitmapset *used);

// Reads the inputs. Starts the engine, unless one of them has no row. If one side is small, only that one is
// read: the other one streams (stream.hpp).
void feed(JoinState *state);

// What a row's set is to the join.
struct RowSet {
  Datum array;
  bool isnull;
  bool joins;          // the row may have partners; then the array is detoasted, and the following are set
  int flaw;            // what dimensions_of_flawed() returned
  uint64_t partition;  // the hash of the keys
};

// Returns the set of a row. The row joins if neither its set nor one of its keys is NULL. If `partners` is
// not NULL but an input that has been read, one of its rows has to have the same keys.
RowSet set_of_row(JoinState *state, Side side, TupleTableSlot *slot, const JoinInput *partners);

// Feeds a set that joins and has no flaw.
void feed_set_of_row(JoinState *state, Side side, const RowSet &set);

// Returns the child's next row, NULL at its end.
TupleTableSlot *next_row(JoinInput *input);

// Gets the columns of the child's row that are kept.
void read_kept_columns(JoinInput *input, TupleTableSlot *slot);

}  // namespace simjoin::pg
