// Citus, which spreads tables over servers: what it does with a table, and with a session.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Returns whether Citus manages the table: it is a distributed or a reference table, and its rows are in
// other tables.
bool is_distributed_table(Oid table);

// Returns whether this session runs parts of the statements of a session of another server, or of this one.
// Citus says so by the session's application_name.
bool runs_for_coordinator();

}  // namespace simjoin::pg
