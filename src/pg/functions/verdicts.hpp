// Verdicts of people on pairs of rows, from a query.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/functions/duplicate_grouping.hpp"
#include "pg/query/query_rows.hpp"

namespace simjoin::pg {

// Runs the query, which returns (a, b, verdict) with ids as those of the rows, with the caller's rights and
// snapshot. Adds the verdicts to the grouping, whose rows these are. Says how many name other rows.
void add_verdicts(const char *query, const QueryRows &rows, const KeyArgument &key, RowGrouping *grouping);

// Warns of verdicts that contradict others.
void report_contradictions(const RowGrouping &grouping);

}  // namespace simjoin::pg
