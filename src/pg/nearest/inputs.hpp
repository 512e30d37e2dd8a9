// The paths that the nodes read a relation by: a table, its partitions, a foreign table, VALUES, a function,
// a CTE.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/base/obstacle.hpp"

namespace simjoin::pg {

constexpr const char *barrier_comes_first =
    "conditions of row-level security or of a security barrier come first";

// Returns why the relation's rows cannot be read once for all outer rows; an obstacle without a reason where
// they can.
Obstacle obstacle_to_reading(PlannerInfo *root, RelOptInfo *rel);

// Returns a path of the rows that meet those conditions on the relation which do not depend on the outer
// query, with these columns; NULL where there is none.
Path *path_of_kept_rows(PlannerInfo *root, RelOptInfo *rel, PathTarget *columns);

// Returns a path of the rows that meet all conditions, for one outer row; NULL where there is none.
Path *path_of_all_rows(PlannerInfo *root, RelOptInfo *rel);

}  // namespace simjoin::pg
