// The join of a dedup view's new and changed rows with the rows that may be similar to them.
#pragma once

#include "pg/pg.hpp"

#include "core/graph_duplicates.hpp"
#include "pg/dedup_state.hpp"

namespace simjoin::pg {

// Keeps other refreshes of the view away until the transaction ends, and pushes a snapshot that sees what
// those before have stored: the one that the statement began with may be older. Errors where the transaction
// has one snapshot for all its statements, which may be older, too: rows that another refresh has stored
// since, and changes that are not written down yet, would be missed.
void lock_state(const DedupDefinition &definition);

// Joins new and changed rows of the state with each other and with its kept rows, and stores the pairs; adds
// them to the grouper, if there is one, by row numbers.
void join_changes(DedupState *state, Measure measure, double threshold, DuplicateGrouper *grouper);

}  // namespace simjoin::pg
