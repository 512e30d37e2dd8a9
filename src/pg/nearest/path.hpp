// The node NearestRows in the planner: when it is offered, and at which cost.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
}

#include "pg/nearest/keys.hpp"
#include "pg/nearest/order.hpp"

namespace simjoin::pg {

// A CustomPath with what its plan needs. custom_paths holds the path of the rows that are kept, and that of
// all rows in order, for one row of the outer query.
struct NearestRowsPath {
  CustomPath custom;
  SimilarityOrder order;
  KeyExpressions keys;
  Expr *bound;      // of the similarity, by a condition that the node evaluates; NULL without one
  int columns;      // of the output of either path: those that the node needs
  int first_pairs;  // that are probably asked for
};

// Makes the planner consider the node. Called once, when the module is loaded.
void install_nearest_rows_hook();

// PlanCustomPath of the node.
Plan *plan_nearest_rows(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
                        List *custom_plans);

// Makes the plan node known to PostgreSQL. Called once, when the module is loaded.
void register_nearest_rows_methods();

}  // namespace simjoin::pg
