// The join operator's plan node: from a path to a plan that can be copied.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
}

namespace simjoin::pg {

// PlanCustomPath of the join's path methods.
Plan *plan_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
                List *custom_plans);

// Makes the plan node known to PostgreSQL. Called once, when the module is loaded.
void register_join_methods();

}  // namespace simjoin::pg
