// What a condition that is no similarity clause says of similarities in it.
//
// `0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.8` cannot
// hold unless the first similarity is at least (0.8 - 0.3) / 0.7, because no similarity is above 1. A join by
// the implied clause has all pairs of the sum's clause, which then filters them. Functions and operators of
// pg_trgm bound a measure of sets of trigrams in the same way (trigrams.hpp), and edit distances the number
// of keys in common (edits.hpp).
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/clause/match.hpp"
#include "pg/join/clause/sums.hpp"

namespace simjoin::pg {

// Returns the similarity clauses that a condition implies, as a list of SimilarityClause pointers whose sides
// are in the order in which they are written. Each has a RestrictInfo of its own, which belongs to no
// relation. Factors and bounds of sums must be constants. A call of pg_trgm alone may be compared with
// whatever is the same for all pairs. The list is empty for other conditions, and where no similarity alone
// is bounded.
List *implied_clauses(PlannerInfo *root, RestrictInfo *rinfo);

// Completes the clause that holds where a term of the sum, which is at least 0, adds at least `gain` to it.
// Bounds are rounded so that no pair is lost. Returns false where every pair satisfies the clause.
bool bound_term(PlannerInfo *root, const Sum &sum, const Term &term, double gain, SimilarityClause *clause);

}  // namespace simjoin::pg
