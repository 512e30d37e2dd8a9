// The table that the sets of an expression come from.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// An expression over columns of one table, in the query or a subquery of it.
struct SetOrigin {
  PlannerInfo *root;
  Index relid;
  Expr *set;
};

// Finds the table, through subqueries and WITH queries whose output the expression is of. What they filter,
// join or leave out does not matter to a sample. Returns false where there is none, or where a security
// barrier is before it.
bool find_origin(PlannerInfo *root, Expr *set, SetOrigin *origin);

}  // namespace simjoin::pg
