// Expressions that the planner puts into a plan.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
}

namespace simjoin::pg {

inline Expr *call_function(Oid function, Oid type, List *arguments, Oid collation) {
  return reinterpret_cast<Expr *>(
      makeFuncExpr(function, type, arguments, InvalidOid, collation, COERCE_EXPLICIT_CALL));
}

// Returns a constant of double precision.
Expr *number(double value);

// Returns the number in double precision.
Expr *as_double(Node *expr);

// Returns the call of PostgreSQL's operator on two expressions of this type.
Expr *operation(const char *name, Oid result, Expr *left, Expr *right, Oid type = FLOAT8OID);

Expr *minus(Expr *left, Expr *right);

// Returns the greatest or the least of two expressions of the type.
Expr *extreme_of(MinMaxOp which, Expr *first, Expr *second, Oid type = FLOAT8OID);

}  // namespace simjoin::pg
