// Writes down which rows of a table change, for the dedup views over it.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/definition.hpp"

namespace simjoin::pg {

// Returns why not all changes of the table that the dedup view's query `source` reads are written down,
// nullptr where they are. The current user owns the view.
const char *obstacle_to_tracking(Oid source);

// Notes for the views that track the table that anything may have changed, where a trigger is missing or
// not enabled as it was made. The caller is about to repair that. Keeps writers away until the end of the
// transaction.
void note_missing_triggers(Oid table);

// Enables the triggers on the table that the view tracks as they were made, where ALTER TABLE … DISABLE
// TRIGGER and ENABLE TRIGGER have made them ordinary ones, and notes that anything may have changed. Does so
// only for an owner of the table, and if no writer is at work: waits for none. Keeps writers away until the
// end of the transaction. The caller has locked the table, and nothing that belongs to the view. Returns
// whether it did; the caller then reads all rows.
bool mend_triggers(const DedupDefinition &definition, const char *function);

// Returns whether the current user owns the table, or may do what its owner may.
bool is_owned(Oid table);

}  // namespace simjoin::pg
