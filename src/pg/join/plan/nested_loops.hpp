// Plans that compute a similarity for each pair of rows say so.
//
// EXPLAIN prints `Similarity Join Not Used: <why>` below such a plan, and planning raises a NOTICE if it is
// estimated to compute simjoin.notice_pairs similarities or more. `Nearest Pairs Not Used: <why>` comes
// beside it, where the pairs are sorted by the similarity.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace simjoin::pg {

// Returns whether the expression is a call of a measure, of pg_trgm or of an edit distance.
bool computes_similarity(Node *expr);

// Returns whether the plan of the statement that is being planned is looked at.
bool reports_nested_loops();

// Called once, when the module is loaded.
void install_nested_loop_notices();

}  // namespace simjoin::pg
