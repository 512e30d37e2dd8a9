// What a similarity join costs, by the join operator and by PostgreSQL's own joins.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
}

#include "pg/join/plan/path.hpp"

namespace simjoin::pg {

// Estimates the cost of the join operator's path, whose rows are set. All input is read before the first pair
// comes out, unless one side is small: then the other one streams.
void cost_join(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, JoinPath *join,
               SpecialJoinInfo *sjinfo);

// Charges PostgreSQL's hash joins of these two relations for all calls of the measure that they will make,
// where PostgreSQL charges for fewer.
void charge_hash_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                       const SimilarityClause &clause, const JoinPathExtraData *extra);

// Gives the cost of a call of a measure. Returns false where it cannot be told.
bool cost_call(SupportRequestCost *request);

}  // namespace simjoin::pg
