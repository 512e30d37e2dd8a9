// The join of a dedup view's new and changed rows with the rows that may be similar to them.
#pragma once

#include "pg/base/pg.hpp"

#include "core/dedup/duplicate_groups.hpp"
#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Joins new and changed rows of the state with each other and with its kept rows, and stores the pairs. They
// are added to the work by row numbers, unless it is nullptr.
void join_changes(DedupState *state, GroupingWork *work);

}  // namespace simjoin::pg
