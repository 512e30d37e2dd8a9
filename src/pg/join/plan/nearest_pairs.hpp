// The node NearestPairs in the planner: when it is offered, and at which cost.
//
// ORDER BY similarity DESC over a join, of which few rows are asked for. The node gives the pairs in this
// order: those of a join with a high threshold come first, sorted, then those of a join with a lower one, and
// at last all pairs of the query's own join. It goes only as far as rows are asked for.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/base/obstacle.hpp"

namespace simjoin::pg {

// Returns whether the join evaluates conditions that are to come before what else looks at its rows: the
// number of pairs that a search finds would reveal rows that they hide.
bool has_join_barrier(PlannerInfo *root, List *restrictlist);

// Returns why the first sort key, which is computed from a similarity of both sides, gives no pairs by
// searches.
Obstacle obstacle_in_order(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner);

// Offers the node for an inner join. Its inputs are repeatable.
void offer_nearest_pairs(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                         JoinPathExtraData *extra);

// Makes the plan node known to PostgreSQL. Called once, when the module is loaded.
void register_nearest_pairs_methods();

}  // namespace simjoin::pg
