// Calls of functions that the planner puts into a plan.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "nodes/makefuncs.h"
}

namespace simjoin::pg {

inline Expr *call_function(Oid function, Oid type, List *arguments, Oid collation) {
  return reinterpret_cast<Expr *>(
      makeFuncExpr(function, type, arguments, InvalidOid, collation, COERCE_EXPLICIT_CALL));
}

}  // namespace simjoin::pg
