// How often the query of an outer row is started.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace simjoin::pg {

// Returns how often the query is started, by estimate: once for each row that the parameters of the
// expression come from.
double expected_starts(PlannerInfo *root, Node *expr);

}  // namespace simjoin::pg
