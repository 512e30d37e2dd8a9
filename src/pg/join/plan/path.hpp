// The join operator in the planner: when a similarity join is offered, and at which cost.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"
#include "pg/join/estimate/driving_clause.hpp"

namespace simjoin::pg {

// A CustomPath with what its plan needs. custom_paths holds the outer and the inner path, or a single path
// where both relations are the same rows (read_once).
struct JoinPath {
  CustomPath custom;
  JoinType jointype;
  SimilarityClause clause;
  ClauseChoice choice;  // among the clauses that could drive the join
  List *restrictlist;
  List *partition_clauses;  // the equality clauses of restrictlist that keep rows apart
  RelOptInfo *outer;
  Side smaller;           // the side that is expected to have fewer tokens; set by cost_join
  bool exact_is_cheaper;  // than the join by bands that the settings ask for; set by cost_join
  bool read_once;
  bool skip_same_row;  // with read_once, a row is not paired with itself: another clause excludes it
  bool one_way;        // with read_once, other clauses hold for a pair one way round at most
  Index left_relid;    // the relation that is read, where read_once
  Index right_relid;   // the relation whose columns are those of left_relid, where read_once
};

// Returns the join by the cheapest of the clauses, a list of SimilarityClause pointers, with the rest of
// `restrictlist` as a filter. Returns NULL where none of them can drive it.
JoinPath *make_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                    JoinType jointype, SpecialJoinInfo *sjinfo, List *restrictlist, double rows,
                    List *clauses);

// Returns whether all that is read for a join comes the same however often it is read.
bool repeatable_inputs(PlannerInfo *root, RelOptInfo *joinrel);

// Puts the join operator in front of the planner. Called once, when the module is loaded.
void install_join_hook();

}  // namespace simjoin::pg
