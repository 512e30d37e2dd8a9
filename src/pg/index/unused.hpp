// EXPLAIN VERBOSE says which indexes on sets a query would use if they served lower thresholds.
#pragma once

#include "pg/base/pg.hpp"

#include "core/measure.hpp"

namespace simjoin::pg {

// Notes, where a query is being explained, that the index does not serve a clause, since it serves these
// bounds.
void note_unused_index(Oid index, const Bounds &served);

// Makes EXPLAIN VERBOSE print the notes below the plan, in text. Called once, when the module is loaded.
void install_explain_hook();

}  // namespace simjoin::pg
