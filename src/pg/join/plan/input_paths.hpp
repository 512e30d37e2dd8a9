// The inputs of the join operator in the planner: which paths read the relations, and whether by parallel
// workers.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/join/plan/path.hpp"

namespace simjoin::pg {

// Returns the cheapest path that depends on no other relation, NULL without one.
Path *cheapest_unparameterized(RelOptInfo *rel);

// Returns the input that reads the rows once for both relations, NULL where no path can give the columns of
// both.
Path *input_for_both(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, const JoinPath *join);

// Returns the input of one side, NULL without a path.
Path *input_of_side(PlannerInfo *root, RelOptInfo *rel, const JoinPath *join, bool left);

}  // namespace simjoin::pg
