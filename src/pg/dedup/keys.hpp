// Ids that are no integers: the keys of a view's rows. The parts know a key by a number, which it keeps as
// long as the view has the key. The table of rows has both.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Gives each row of the view's query the number that stands for its key in the parts, and a new number to a
// key that they do not know. Errors where two rows have the same key.
void number_rows_by_key(DedupState *state);

}  // namespace simjoin::pg
