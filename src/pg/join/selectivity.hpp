// The selectivity of similarity clauses, as the planner sees it.
//
// PostgreSQL assumes that a comparison with a function's result holds for a third of all pairs of rows. Each
// clause has a place where its selectivity is kept once it is known (RestrictInfo.norm_selec and
// outer_selec). Ours is put there before joins are planned: all that PostgreSQL derives from it follows, the
// rows of every kind of join and those of joins above it, whichever plan is chosen and whether or not the
// join operator is enabled.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/match.hpp"

namespace simjoin::pg {

// Makes the planner use our selectivities. Called once, when the module is loaded.
void install_selectivity_hook();

// Returns the predicate that the clause stands for, with a usual threshold where the planner cannot know it.
Bounds planned_bounds(const SimilarityClause &clause);

// Returns the share of the cross product's pairs that satisfy the clause.
double pair_selectivity(PlannerInfo *root, const SimilarityClause &clause, SpecialJoinInfo *sjinfo);

// Returns the clause of a list of SimilarityClause pointers that the fewest pairs satisfy; of several the
// first.
const SimilarityClause *most_selective(PlannerInfo *root, List *clauses, SpecialJoinInfo *sjinfo);

// Estimates the rows of a join of two partitions, for which PostgreSQL copies the clauses of the whole tables
// but not their selectivities.
void estimate_partition_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                             SpecialJoinInfo *sjinfo, List *restrictlist);

}  // namespace simjoin::pg
