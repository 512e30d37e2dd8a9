// The triggers that write down which rows of a table change, for the dedup views over it.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns why not all changes of what this query of a dedup view, whose owner is the current user, reads are
// written down; nullptr where they are.
const char *obstacle_to_tracking(Oid source);

// Where a trigger on the table is missing or disabled, rows may have changed unnoticed: notes that for the
// views that track them, whose triggers are about to be made anew. Keeps writers away until the end of the
// transaction.
void note_missing_triggers(Oid table);

// Returns statements that make the triggers on the table, for its owner. `schema`: the extension's, quoted.
const char *trigger_statements(Oid table, const char *schema);

// Returns whether the current user owns the table, or may do what its owner may.
bool is_owned(Oid table);

// Returns statements that drop the triggers on the table, for its owner: none where a dedup view other than
// this one needs them. Triggers that stay without a view do nothing.
const char *drop_trigger_statements(Oid table, Oid view);

}  // namespace simjoin::pg
