// The join of a dedup view's new and changed rows with the rows that may be similar to them.
#pragma once

#include "pg/pg.hpp"

#include "core/graph_duplicates.hpp"
#include "pg/dedup_state.hpp"

namespace simjoin::pg {

// Joins new and changed rows of the state with each other and with its kept rows, and stores the pairs; adds
// them to the grouper, if there is one, by row numbers.
void join_changes(DedupState *state, Measure measure, double threshold, DuplicateGrouper *grouper);

}  // namespace simjoin::pg
