// Which sets may be computed from the rows of a table while a query is planned.
//
// The query itself may never compute them: EXPLAIN only plans, and another condition may leave no row. So no
// code of another role runs here, and nothing is read that the user may not read all of.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

#include "pg/join/estimate/set_origin.hpp"

namespace simjoin::pg {

// Returns NULL where the expression is over columns of one table and may be computed from a sample of its
// rows, and gives the table. Else returns why not.
const char *why_not_sampled(PlannerInfo *root, Expr *expr, SetOrigin *origin);

}  // namespace simjoin::pg
