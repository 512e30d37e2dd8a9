#include "pg/join/clause/text_call.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include "pg/base/bound_symbol.hpp"
#include "pg/base/compat.hpp"
#include "pg/sets/tokenizers.hpp"

namespace simjoin::pg {
namespace {

// Returns whether a call of the function may become an expression, as PostgreSQL decides for functions of
// SQL.
bool may_be_replaced(Oid function) {
  return compat::may_execute(function) && is_plain_function(function);
}

// Returns the set of a text, folded if the text is a constant. Other texts are as simple as they get, and may
// hold a function whose inlining has begun.
Expr *set_of(const SetMaker &maker, Expr *text, Oid schema, Oid tokenizer_type, PlannerInfo *root) {
  Expr *set = set_expression(maker, text, schema, tokenizer_type);
  if (set == nullptr || !IsA(text, Const)) return set;
  return reinterpret_cast<Expr *>(eval_const_expressions(root, reinterpret_cast<Node *>(set)));
}

}  // namespace

Node *with_sets(const SupportRequestSimplify &request) {
  const FuncExpr &call = *request.fcall;
  // Without a plan it may be for an index or a generated column, which last longer than the search_path that
  // the tokenizer's name depends on. They refuse the call as it is, because it is not immutable.
  if (request.root == nullptr || list_length(call.args) != 3) return nullptr;
  auto *tokenizer = static_cast<Node *>(lthird(call.args));
  if (!IsA(tokenizer, Const) || castNode(Const, tokenizer)->constisnull || !may_be_replaced(call.funcid))
    return nullptr;
  const Oid schema = get_func_namespace(call.funcid);
  const char *name = get_func_name(call.funcid);
  if (name == nullptr) return nullptr;  // it is being dropped
  const SetMaker *maker = create_set_maker(TextDatumGetCString(castNode(Const, tokenizer)->constvalue),
                                           TEXTOID, call.inputcollid, CurrentMemoryContext);
  const Oid tokenizer_type = exprType(tokenizer);
  const auto set_of_argument = [&](void *argument) {
    return set_of(*maker, static_cast<Expr *>(argument), schema, tokenizer_type, request.root);
  };
  Expr *left = set_of_argument(linitial(call.args));
  Expr *right = set_of_argument(lsecond(call.args));
  if (left == nullptr || right == nullptr) return nullptr;
  auto *set = reinterpret_cast<Node *>(left);
  const Oid type = exprType(set);
  const Oid measure = find_function(schema, name, {type, type}, call.funcresulttype);
  if (!OidIsValid(measure)) return nullptr;
  record_plan_function_dependency(request.root, call.funcid);
  auto *replaced =
      reinterpret_cast<Node *>(makeFuncExpr(measure, call.funcresulttype, list_make2(left, right),
                                            call.funccollid, exprCollation(set), COERCE_EXPLICIT_CALL));
  return IsA(left, Const) && IsA(right, Const) ? eval_const_expressions(request.root, replaced) : replaced;
}

}  // namespace simjoin::pg
