// The query of a dedup view, and what a session knows of the one that it runs.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Returns what the last refresh of a dedup view in this session did.
const RefreshFigures &last_refresh_figures();

// Sets the name of the function that makes or refreshes a dedup view from now on, for messages of the view's
// query; with nullptr, it is that of the query itself, which REFRESH MATERIALIZED VIEW runs. Returns the name
// that was set before.
const char *set_refreshing_function(const char *function);

}  // namespace simjoin::pg
