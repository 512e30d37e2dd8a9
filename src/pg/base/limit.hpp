// How many rows a query asks for.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Returns how many rows of the relations, which are all of the query's, it asks for, 0 where this is not
// known. The rows are sorted by as many of its sort keys.
int rows_asked_for(PlannerInfo *root, Relids relids, int sort_keys);

}  // namespace simjoin::pg
