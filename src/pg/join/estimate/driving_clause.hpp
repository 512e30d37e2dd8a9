// Which of several similarity clauses drives a join.
//
// The clause that the fewest pairs satisfy need not be the one with the fewest candidates: names of two words
// are seldom similar at 0.8, but share their words with many others. So the clauses are judged by a sample of
// their sets, which also tells of sets that have no statistics because they are computed in the query.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"

namespace simjoin::pg {

// The clauses of a choice, the driving one first.
struct ClauseChoice {
  List *clauses;        // SimilarityClause pointers
  List *candidates;     // their estimates, as Float nodes; NIL where no sample was taken
  const char *why_not;  // no sample was taken; NULL where one was, or where there was no need
};

// Chooses among the clauses, one or more. `partition_clauses` are equality clauses that keep rows apart.
ClauseChoice choose_driving_clause(PlannerInfo *root, RelOptInfo *outer, RelOptInfo *inner, List *clauses,
                                   List *restrictlist, List *partition_clauses, SpecialJoinInfo *sjinfo);

// Returns whether a join of so many pairs of rows is worth a sample.
bool worth_sample(double pairs);

}  // namespace simjoin::pg
