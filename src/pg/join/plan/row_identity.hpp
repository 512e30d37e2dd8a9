// Row identities of UPDATE, DELETE and MERGE on a partitioned table or one with child tables. The planner has
// one column for what its tables identify rows by, ctid say, and that column belongs to no table (ROWID_VAR).
// A custom scan's tuple may not have such a column: it stops a server with assertions, and EXPLAIN VERBOSE
// cannot name it.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Returns what stands for the expression in the join's tuple: the target's column for a row identity, else
// itself.
Node *in_join_tuple(PlannerInfo *root, Node *expr);

// Returns a path that gives the rows of all of these paths of the join, with the output that is wanted of it.
// That is an Append. A single path is returned as it is if the output has no row identity; otherwise the
// planner takes its Append out of the finished plan. Columns of an Append are those of its inputs by
// position, whatever their expressions.
Path *with_row_identities(PlannerInfo *root, RelOptInfo *joinrel, List *paths);

}  // namespace simjoin::pg
