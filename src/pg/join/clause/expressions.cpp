#include "pg/join/clause/expressions.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
}

namespace simjoin::pg {

Expr *number(double value) {
  return reinterpret_cast<Expr *>(
      makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false, FLOAT8PASSBYVAL));
}

Expr *as_double(Node *expr) {
  Oid cast = InvalidOid;
  switch (exprType(expr)) {
    case FLOAT4OID:
      cast = F_FLOAT8_FLOAT4;
      break;
    case INT4OID:
      cast = F_FLOAT8_INT4;
      break;
    case NUMERICOID:
      cast = F_FLOAT8_NUMERIC;
      break;
    default:
      return reinterpret_cast<Expr *>(expr);
  }
  return reinterpret_cast<Expr *>(
      makeFuncExpr(cast, FLOAT8OID, list_make1(expr), InvalidOid, InvalidOid, COERCE_EXPLICIT_CAST));
}

Expr *operation(const char *name, Oid result, Expr *left, Expr *right, Oid type) {
  List *names = list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup(name)));
  const Oid oper = OpernameGetOprid(names, type, type);
  Expr *operation = make_opclause(oper, result, false, left, right, InvalidOid, InvalidOid);
  set_opfuncid(castNode(OpExpr, operation));
  return operation;
}

Expr *minus(Expr *left, Expr *right) {
  return operation("-", FLOAT8OID, left, right);
}

Expr *extreme_of(MinMaxOp which, Expr *first, Expr *second, Oid type) {
  auto *extreme = makeNode(MinMaxExpr);
  extreme->minmaxtype = type;
  extreme->op = which;
  extreme->args = list_make2(first, second);
  extreme->location = -1;
  return reinterpret_cast<Expr *>(extreme);
}

}  // namespace simjoin::pg
