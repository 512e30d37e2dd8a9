// The selectivity of similarity clauses, as the planner sees it.
//
// PostgreSQL assumes that a comparison with a function's result holds for a third of all pairs of rows. Each
// clause keeps its selectivity once it is known (RestrictInfo.norm_selec and outer_selec). Ours is put there
// before joins are planned. PostgreSQL then derives the rows of every kind of join, and of joins above it,
// from ours. That holds for any plan, and with the join operator disabled, too.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "core/lsh/lsh_plan.hpp"
#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// Makes the planner use our selectivities. Called once, when the module is loaded.
void install_selectivity_hook();

// Returns the predicate that the clause stands for, with a usual threshold where the planner cannot know it.
Bounds planned_bounds(const SimilarityClause &clause);

// Returns the share of the cross product's pairs that satisfy the clause.
double pair_selectivity(PlannerInfo *root, const SimilarityClause &clause, SpecialJoinInfo *sjinfo);

// Returns the share of the cross product's pairs that share a bucket of a join by bands. Pairs that are
// hardly similar are taken to have a Jaccard similarity of `average_jaccard`.
double candidate_share(PlannerInfo *root, const SimilarityClause &clause, const BandPlan &plan,
                       double average_jaccard);

// Estimates the rows of a join of two partitions. PostgreSQL copies the clauses of the whole tables to it,
// but not their selectivities.
void estimate_partition_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                             SpecialJoinInfo *sjinfo, List *restrictlist);

}  // namespace simjoin::pg
