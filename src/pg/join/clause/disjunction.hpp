// Joins by a disjunction of similarity clauses.
//
// `jaccard_similarity(a.name, b.name) >= 0.8 OR jaccard_similarity(a.street, b.street) >= 0.9` holds for the
// pairs of two joins. The second one leaves out the pairs of the first, so that each pair comes once.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Returns the clauses of several joins as lists of RestrictInfos, one list for each arm of the disjunction.
// Every pair of rows that satisfies all clauses of the list given satisfies those of exactly one join, and
// no other pair satisfies any. Arms without a similarity come first: the other joins have to leave out their
// pairs, for which no similarity is computed. The list is empty where the clause is no disjunction or has a
// volatile function.
List *joins_of_arms(PlannerInfo *root, RestrictInfo *disjunction, List *restrictlist);

// Calls body(root, rinfo) for the conditions that a disjunction is made of. Does nothing for other clauses.
void for_each_condition(PlannerInfo *root, RestrictInfo *disjunction,
                        void (*body)(PlannerInfo *, RestrictInfo *));

}  // namespace simjoin::pg
