// The query of a dedup view, and what a session knows of the query that it runs.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Returns what the last refresh of a dedup view in this session did.
const RefreshFigures &last_refresh_figures();

// Runs a statement that runs the query of a dedup view, whose messages then name the function. In REFRESH
// MATERIALIZED VIEW they name the query's own.
void execute_for(const char *function, const char *statement);

}  // namespace simjoin::pg
