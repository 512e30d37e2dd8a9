// Several similarity clauses, one of which at least holds where a sum is large enough.
//
// `0.5 * j(title) + 0.35 * j(authors) + 0.15 * j(year) >= 0.5` bounds no similarity alone. But the year adds
// at most 0.15, so that the other two add 0.35: either the title adds 0.15, and has a similarity of 0.3, or
// the authors add 0.2. A join by `j(title) >= 0.3 OR j(authors) >= 0.5714` has all pairs of the sum's clause.
// Any way to split 0.35 will do, and any terms beside the year.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Returns a disjunction of similarity clauses between the two relations that a condition on a sum implies,
// the one with the fewest candidates by a sample or, without one, that the fewest pairs satisfy by the
// planner's estimates. Without relations any two will do.
// Returns NULL for other conditions, and where no disjunction of at least two clauses is implied.
RestrictInfo *implied_disjunction(PlannerInfo *root, RestrictInfo *rinfo, RelOptInfo *outer,
                                  RelOptInfo *inner);

}  // namespace simjoin::pg
