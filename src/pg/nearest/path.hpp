// The nodes NearestRows and SimilarRows in the planner: when they are offered, and at which cost.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
}

#include "pg/nearest/keys.hpp"
#include "pg/nearest/order.hpp"

namespace simjoin::pg {

// A CustomPath with what its plan needs. custom_paths holds the path of the rows that are kept, and that of
// all rows, in order if there is one, for one row of the outer query.
struct NearestRowsPath {
  CustomPath custom;
  SimilarityOrder order;  // for SimilarRows, the sets of its condition
  KeyExpressions keys;
  Expr *bound;      // of the similarity, by a condition that the node evaluates; NULL without one
  int columns;      // of the first path's output: those that the node needs
  int output;       // the first ones of these, which the second path has as well
  int first_pairs;  // that are probably asked for

  bool ordered() const { return order.call != nullptr; }
  // Returns whether the condition asks for one token in common, as edit distances do.
  bool by_keys() const {
    return !ordered() && order.measure == Measure::overlap && IsA(bound, Const) &&
           castNode(Const, bound)->consttype == INT4OID && !castNode(Const, bound)->constisnull &&
           DatumGetInt32(castNode(Const, bound)->constvalue) == 1;
  }
};

// Makes the planner consider the nodes. Called once, when the module is loaded.
void install_nearest_rows_hook();

// PlanCustomPath of the nodes.
Plan *plan_nearest_rows(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
                        List *custom_plans);

// Makes the plan nodes known to PostgreSQL. Called once, when the module is loaded.
void register_nearest_rows_methods();

}  // namespace simjoin::pg
