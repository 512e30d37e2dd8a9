// Differences between the supported versions of PostgreSQL in the planner's paths.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/stratnum.h"
#include "nodes/pathnodes.h"
}

namespace simjoin::pg::compat {

// Returns whether the sort key ascends. PostgreSQL 18 names directions for any index method.
inline bool ascends(const PathKey *key) {
#if PG_VERSION_NUM >= 180000
  return key->pk_cmptype == COMPARE_LT;
#else
  return key->pk_strategy == BTLessStrategyNumber;
#endif
}

// Returns how many nodes of the path the settings disable. PostgreSQL 18 counts them, earlier versions add to
// the cost.
inline int disabled_nodes(const Path *path) {
#if PG_VERSION_NUM >= 180000
  return path->disabled_nodes;
#else
  (void)path;
  return 0;
#endif
}

}  // namespace simjoin::pg::compat
