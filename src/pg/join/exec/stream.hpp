// A side of the join operator that streams: its rows are read while pairs are handed up, and are not kept.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/exec/join_state.hpp"

namespace simjoin::pg {

// Prepares a side to be streamed, from its first row on. The other side has been read and indexed.
void begin_stream(JoinState *state, Side side, TupleTableSlot *first);

// Returns whether the side is the one that streams.
bool streams(const JoinState *state, Side side);

// Reads the next row of the streamed side and begins to look for its pairs. Returns false at the end, or if
// no row can have a pair that is asked for.
bool next_streamed_row(JoinState *state);

// Replaces the batch by pairs of the current row of the streamed side. Returns false if it has no more.
bool next_streamed_batch(JoinState *state);

// Returns whether nothing more is asked of the current row of a streamed side, as it has a partner.
bool streamed_row_is_done(const JoinState *state);

// Ends the current row of the streamed side, if there is one. Returns true if that row is a row of the result
// without a partner, and makes it the scan tuple.
bool end_streamed_row(JoinState *state);

}  // namespace simjoin::pg
