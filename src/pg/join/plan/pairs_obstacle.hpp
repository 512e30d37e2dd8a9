// Why a join that is sorted by a similarity is not one of the node NearestPairs.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Notes why the join cannot be one of the node, for the statement that is being planned, if its query sorts
// by a similarity of the rows of both inputs. If it can be one, notes that the planner may find it too
// expensive.
void note_pairs_obstacle(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                         JoinType jointype, List *restrictlist);

}  // namespace simjoin::pg
