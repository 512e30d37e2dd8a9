// Ids that are no integers: the keys of a view's rows. The parts know a key by a number, which it keeps as
// long as the view has the key. The table of rows has both.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Gives each row of the view's query its key's number in the parts, and a new number to a key that the parts
// do not have. Returns the numbers that they have, all of them or, with `noted_only`, those of the noted
// keys. Errors where two rows have the same key.
GrowingArray<int64> number_rows_by_key(DedupState *state, bool noted_only);

}  // namespace simjoin::pg
