// PostgreSQL's own join for an arm of a disjunction that has no similarity clause.
//
// `jaccard_similarity(a.words, b.words) >= 0.8 OR a.body = b.body` holds for the pairs of two joins: a hash
// join by the body, and a similarity join that leaves out pairs with the same body.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Returns an inner join of the two relations by these clauses: a hash join, or a nested loop where a table is
// filtered alone, as by `a.id = 17`. Returns NULL where neither is possible. The path's rows are to be set.
Path *own_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
               List *restrictlist, const JoinPathExtraData *extra);

}  // namespace simjoin::pg
