// The query of a dedup view, and what a session knows of the query that it runs.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Returns what the last refresh of a dedup view in this session did.
const RefreshFigures &last_refresh_figures();

// Sets the function that messages of a dedup view's query name from now on, and returns the one before. With
// nullptr they name the query's own function, as in REFRESH MATERIALIZED VIEW.
const char *set_refreshing_function(const char *function);

}  // namespace simjoin::pg
