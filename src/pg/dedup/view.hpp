// Materialized views of groups of duplicates, and the relations beside them.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// Returns the relation's name with its schema, quoted. Errors where there is none.
const char *relation_name(Oid relation);

// Returns what the last refresh of a dedup view in this session did.
const RefreshFigures &last_refresh_figures();

// Returns the name of the function that makes or refreshes a dedup view at the moment, for messages of the
// view's query; that of the query where it is none (but REFRESH MATERIALIZED VIEW).
const char *function_over_dedup_views();

}  // namespace simjoin::pg
