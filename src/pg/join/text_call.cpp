#include "pg/join/text_call.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/tokenizers.hpp"

namespace simjoin::pg {
namespace {

// Returns whether a call of the function may become an expression, as PostgreSQL decides for functions of
// SQL: the user may call it, and it changes neither the user nor settings.
bool may_be_replaced(Oid function) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool plain = !reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prosecdef &&
                     heap_attisnull(tuple, Anum_pg_proc_proconfig, nullptr);
  ReleaseSysCache(tuple);
  return plain && compat::may_execute(function);
}

}  // namespace

Node *with_sets(const SupportRequestSimplify &request) {
  const FuncExpr &call = *request.fcall;
  if (list_length(call.args) != 3) return nullptr;
  auto *tokenizer = static_cast<Node *>(lthird(call.args));
  if (!IsA(tokenizer, Const) || castNode(Const, tokenizer)->constisnull || !may_be_replaced(call.funcid))
    return nullptr;
  const Oid schema = get_func_namespace(call.funcid);
  const char *name = get_func_name(call.funcid);
  if (name == nullptr) return nullptr;  // it is being dropped
  const SetMaker *maker = create_set_maker(TextDatumGetCString(castNode(Const, tokenizer)->constvalue),
                                           call.inputcollid, CurrentMemoryContext);
  Expr *left = set_expression(*maker, static_cast<Expr *>(linitial(call.args)), schema);
  Expr *right = set_expression(*maker, static_cast<Expr *>(lsecond(call.args)), schema);
  if (left == nullptr || right == nullptr) return nullptr;
  auto *set = reinterpret_cast<Node *>(left);
  const Oid type = exprType(set);
  const Oid measure = find_function(schema, name, {type, type}, call.funcresulttype);
  if (!OidIsValid(measure)) return nullptr;
  if (request.root != nullptr) record_plan_function_dependency(request.root, call.funcid);
  FuncExpr *replaced = makeFuncExpr(measure, call.funcresulttype, list_make2(left, right), call.funccollid,
                                    exprCollation(set), COERCE_EXPLICIT_CALL);
  // The set of a constant text is a constant.
  return eval_const_expressions(request.root, reinterpret_cast<Node *>(replaced));
}

}  // namespace simjoin::pg
