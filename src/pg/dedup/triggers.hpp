// The triggers that write down which rows of a table change, for the dedup views over it.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns why not all changes of the table that the dedup view's query `source` reads are written down,
// nullptr where they are. The current user owns the view.
const char *obstacle_to_tracking(Oid source);

// Notes for the views that track the table that anything may have changed, where a trigger is missing or
// disabled. The caller is about to make the triggers anew. Keeps writers away until the end of the
// transaction.
void note_missing_triggers(Oid table);

// Returns statements that make the triggers on the table, for its owner. `schema` is the extension's, quoted.
const char *trigger_statements(Oid table, const char *schema);

// Returns whether the current user owns the table, or may do what its owner may.
bool is_owned(Oid table);

// Returns statements that drop the triggers on the table, for its owner. They are empty where a dedup view
// other than this one needs the triggers. Triggers that stay without a view do nothing.
const char *drop_trigger_statements(Oid table, Oid view);

}  // namespace simjoin::pg
