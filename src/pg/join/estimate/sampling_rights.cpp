#include "pg/join/estimate/sampling_rights.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

#include "pg/base/compat.hpp"
#include "pg/base/compat_tables.hpp"

namespace simjoin::pg {
namespace {

// Returns whether a function may do more than compute a value from its arguments. One that is written in C
// comes from a superuser.
bool may_do_more(Oid function, void *) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return true;
  const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
  const bool plain = form->provolatile == PROVOLATILE_IMMUTABLE && !form->proretset && !form->prosecdef &&
                     (form->prolang == INTERNALlanguageId || form->prolang == ClanguageId);
  ReleaseSysCache(tuple);
  return !plain || !compat::may_execute(function);
}

// Returns whether the type is neither built in nor a base type of this extension, such as tokenizer.
bool is_type_of_others(Oid type) {
  if (type < FirstNormalObjectId) return false;
  const Oid extension = get_extension_oid("simjoin", true);
  return !OidIsValid(extension) || get_typtype(type) != TYPTYPE_BASE ||
         getExtensionOfObject(TypeRelationId, type) != extension;
}

bool is_column(Node *node) {
  return IsA(node, Var) && castNode(Var, node)->varattno > 0 && castNode(Var, node)->varlevelsup == 0;
}

// Returns whether the expression is of more than columns, constants and functions of types that are built in
// or of this extension. Functions on arrays of other types call what belongs to these types.
bool is_more(Node *node, void *) {
  if (node == nullptr) return false;
  switch (nodeTag(node)) {
    case T_List:
      return compat::walk_children(node, is_more, nullptr);
    case T_RelabelType:  // such as that of a domain's value to the type behind it
      if (is_column(reinterpret_cast<Node *>(castNode(RelabelType, node)->arg)))
        return is_type_of_others(exprType(node));
      break;
    case T_Var:
      if (!is_column(node)) return true;
      break;
    case T_Const:
    case T_FuncExpr:
    case T_OpExpr:
    case T_ScalarArrayOpExpr:
    case T_CoerceViaIO:
    case T_ArrayCoerceExpr:
    case T_ArrayExpr:
    case T_CoalesceExpr:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_BoolExpr:
    case T_NullTest:
    case T_CollateExpr:
    case T_SubscriptingRef:
      break;
    default:
      return true;
  }
  return is_type_of_others(exprType(node)) || check_functions_in_node(node, may_do_more, nullptr) ||
         compat::walk_children(node, is_more, nullptr);
}

// Returns the table whose rights count for one of its partitions.
Index table_of_rights(PlannerInfo *root, Index relid) {
  while (root->append_rel_array != nullptr && root->append_rel_array[relid] != nullptr) {
    const Index parent = root->append_rel_array[relid]->parent_relid;
    if (planner_rt_fetch(parent, root)->rtekind != RTE_RELATION) break;
    relid = parent;
  }
  return relid;
}

bool may_read_columns(Oid table, Oid user, Index relid, Expr *expr) {
  Bitmapset *columns = nullptr;
  pull_varattnos(reinterpret_cast<Node *>(expr), relid, &columns);
  for (int column = -1; (column = bms_next_member(columns, column)) >= 0;) {
    const auto number = static_cast<AttrNumber>(column + FirstLowInvalidHeapAttributeNumber);
    if (pg_attribute_aclcheck(table, number, user, ACL_SELECT) != ACLCHECK_OK) return false;
  }
  return true;
}

// Returns whether the user may read the columns in all rows of the table.
bool may_read(PlannerInfo *root, Index relid, Expr *expr) {
  const Index table = table_of_rights(root, relid);
  const RangeTblEntry *rte = planner_rt_fetch(table, root);
  if (rte->securityQuals != NIL) return false;
  const Oid reader = compat::reader_of(root, table);
  const Oid user = OidIsValid(reader) ? reader : GetUserId();
  return pg_class_aclcheck(rte->relid, user, ACL_SELECT) == ACLCHECK_OK ||
         (table == relid && may_read_columns(rte->relid, user, relid, expr));
}

}  // namespace

const char *why_not_sampled(PlannerInfo *root, Expr *expr, SetOrigin *origin) {
  if (!find_origin(root, expr, origin)) return "a set is not of one table";
  auto *node = reinterpret_cast<Node *>(origin->set);
  if (!is_column(node) && is_more(node, nullptr))
    return "a set is computed by more than immutable functions in C of built-in types";
  return may_read(origin->root, origin->relid, origin->set) ? nullptr : "the user may not read all rows";
}

}  // namespace simjoin::pg
