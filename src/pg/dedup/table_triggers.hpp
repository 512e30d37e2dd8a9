// The triggers of a table whose changes dedup views track.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns whether the table has all triggers, each of them enabled as it was made, so that each change of the
// table is noted.
bool has_triggers(Oid table);

// Returns whether the table has all triggers and none is disabled, but some are enabled as ordinary triggers:
// they do not fire in sessions that replicate.
bool have_lost_modes(Oid table);

// Returns a statement that enables the triggers as they were made, without a semicolon; nullptr where they
// are, and where one is missing.
const char *enabling_statement(Oid table);

// Returns statements that make the triggers on the table, for its owner. `schema` is the extension's, quoted.
const char *trigger_statements(Oid table, const char *schema);

// Returns statements that drop the triggers on the table, for its owner. They are empty where a dedup view
// other than this one needs the triggers. Triggers that stay without a view do nothing.
const char *drop_trigger_statements(Oid table, Oid view);

}  // namespace simjoin::pg
