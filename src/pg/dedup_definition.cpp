#include "pg/dedup_definition.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "nodes/parsenodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteSupport.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

#include <cstring>

#include "pg/compat.hpp"

namespace simjoin::pg {
namespace {

constexpr int plain_arguments = 8;
constexpr int tracked_arguments = 10;

// Returns the query of a view or materialized view; nullptr where there is none.
Query *query_of(Oid view) {
  HeapTuple rule = SearchSysCache2(RULERELNAME, ObjectIdGetDatum(view), CStringGetDatum(ViewSelectRuleName));
  if (!HeapTupleIsValid(rule)) return nullptr;
  bool isnull;
  const Datum action = SysCacheGetAttr(RULERELNAME, rule, Anum_pg_rewrite_ev_action, &isnull);
  auto *actions = static_cast<List *>(stringToNode(TextDatumGetCString(action)));
  ReleaseSysCache(rule);
  return linitial_node(Query, actions);
}

// Returns the only relation or function that the query reads; nullptr where there is no such thing.
const RangeTblEntry *only_input(const Query *query) {
  if (query->jointree == nullptr || list_length(query->jointree->fromlist) != 1) return nullptr;
  const auto *from = static_cast<const Node *>(linitial(query->jointree->fromlist));
  if (!IsA(from, RangeTblRef)) return nullptr;
  const int number = reinterpret_cast<const RangeTblRef *>(from)->rtindex;
  return static_cast<const RangeTblEntry *>(list_nth(query->rtable, number - 1));
}

// Returns whether the query, of one table, uses a system column of it.
bool uses_system_column(const Query *query) {
  const int number = reinterpret_cast<const RangeTblRef *>(linitial(query->jointree->fromlist))->rtindex;
  Bitmapset *columns = nullptr;
  pull_varattnos(reinterpret_cast<Node *>(query->targetList), number, &columns);
  pull_varattnos(query->jointree->quals, number, &columns);
  const int first = bms_next_member(columns, -1);
  return first >= 0 && first + FirstLowInvalidHeapAttributeNumber < 0;
}

// Returns why changes of a table are not those of a query of this shape over it; nullptr where they are.
const char *obstacle_in_query(Query *query) {
  const RangeTblEntry *input = only_input(query);
  if (query->setOperations != nullptr || query->cteList != NIL || input == nullptr ||
      input->rtekind != RTE_RELATION)
    return "the query does not read exactly one table";
  if (query->hasSubLinks) return "the query has a subquery";
  if (query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
      query->havingQual != nullptr)
    return "the query aggregates";
  if (query->hasWindowFuncs) return "the query has a window function";
  if (query->distinctClause != NIL) return "the query has DISTINCT";
  if (query->limitCount != nullptr || query->limitOffset != nullptr) return "the query has LIMIT or OFFSET";
  if (query->hasTargetSRFs) return "the query has a set-returning function";
  if (input->tablesample != nullptr) return "the query has TABLESAMPLE";
  if (contain_mutable_functions(reinterpret_cast<Node *>(query)))
    return "the query has a function that is not immutable";
  if (uses_system_column(query)) return "the query uses a system column";
  return nullptr;
}

// Returns why triggers cannot see all changes of the table; nullptr where they can.
const char *obstacle_in_table(Oid table) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
  if (!HeapTupleIsValid(tuple)) return "the table does not exist";
  const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  const char kind = form->relkind, persistence = form->relpersistence;
  const bool partition = form->relispartition, security = form->relrowsecurity;
  ReleaseSysCache(tuple);
  if (kind != RELKIND_RELATION) return "the query does not read exactly one table";
  if (persistence != RELPERSISTENCE_PERMANENT) return "the table is unlogged or temporary";
  if (security) return "the table has row-level security";
  if (partition || has_superclass(table)) return "the table is a partition or inherits from another";
  if (has_subclass(table) && find_inheritance_children(table, NoLock) != NIL)
    return "other tables inherit from the table";
  return nullptr;
}

}  // namespace

bool is_function(Oid function, const char *symbol) {
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return false;
  bool isnull;
  const Datum value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
  const bool is_it = !isnull && std::strcmp(TextDatumGetCString(value), symbol) == 0 &&
                     reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == ClanguageId;
  ReleaseSysCache(tuple);
  return is_it;
}

DedupDefinition definition_of(const Datum *arguments, int count) {
  const bool tracked = count == tracked_arguments;
  const Datum *rest = arguments + (tracked ? 5 : 3);
  return {DatumGetObjectId(arguments[0]),
          DatumGetObjectId(arguments[1]),
          DatumGetObjectId(arguments[2]),
          tracked ? DatumGetObjectId(arguments[3]) : InvalidOid,
          tracked ? DatumGetObjectId(arguments[4]) : InvalidOid,
          DatumGetFloat8(rest[0]),
          TextDatumGetCString(rest[1]),
          TextDatumGetCString(rest[2]),
          TextDatumGetCString(rest[3]),
          DatumGetFloat8(rest[4])};
}

bool find_definition(Oid view, DedupDefinition *definition) {
  if (get_rel_relkind(view) != RELKIND_MATVIEW) return false;
  const Query *query = query_of(view);
  const RangeTblEntry *input = query == nullptr ? nullptr : only_input(query);
  if (input == nullptr || input->rtekind != RTE_FUNCTION || list_length(input->functions) != 1) return false;
  auto *call = reinterpret_cast<FuncExpr *>(linitial_node(RangeTblFunction, input->functions)->funcexpr);
  if (!IsA(call, FuncExpr) || !is_function(call->funcid, "simjoin_dedup_view_groups")) return false;
  Datum arguments[tracked_arguments];
  int count = 0;
  ListCell *cell;
  foreach (cell, call->args) {
    const auto *value = static_cast<const Const *>(lfirst(cell));
    if (!IsA(value, Const) || value->constisnull || count == tracked_arguments) return false;
    arguments[count++] = value->constvalue;
  }
  if (count != plain_arguments && count != tracked_arguments) return false;
  *definition = definition_of(arguments, count);
  return true;
}

TrackedTable tracked_table(Oid source) {
  Query *query = query_of(source);
  if (query == nullptr) return {InvalidOid, 0, "the query is missing"};
  const char *obstacle = obstacle_in_query(query);
  if (obstacle != nullptr) return {InvalidOid, 0, obstacle};
  const Oid table = only_input(query)->relid;
  const auto *id = reinterpret_cast<const Var *>(linitial_node(TargetEntry, query->targetList)->expr);
  if (!IsA(id, Var) || id->varattno <= 0) return {table, 0, "the query's id is not a column of its table"};
  return {table, id->varattno, obstacle_in_table(table)};
}

bool has_order(Oid source) {
  const Query *query = query_of(source);
  return query != nullptr && query->sortClause != NIL;
}

void for_views_over(Oid relation, void (*body)(void *context, Oid view), void *context) {
  Relation depend = table_open(DependRelationId, AccessShareLock);
  Relation rewrite = table_open(RewriteRelationId, AccessShareLock);
  ScanKeyData keys[2], rule_key;
  ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(RelationRelationId));
  ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc dependents = systable_beginscan(depend, DependReferenceIndexId, true, nullptr, 2, keys);
  Oid last = InvalidOid;
  for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(dependents));) {
    const auto *dependent = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
    if (dependent->classid != RewriteRelationId || dependent->objid == last) continue;
    last = dependent->objid;
    ScanKeyInit(&rule_key, Anum_pg_rewrite_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(last));
    SysScanDesc rules = systable_beginscan(rewrite, RewriteOidIndexId, true, nullptr, 1, &rule_key);
    HeapTuple rule = systable_getnext(rules);
    const Oid view =
        HeapTupleIsValid(rule) ? reinterpret_cast<Form_pg_rewrite>(GETSTRUCT(rule))->ev_class : InvalidOid;
    systable_endscan(rules);
    if (view != InvalidOid) body(context, view);
  }
  systable_endscan(dependents);
  table_close(rewrite, AccessShareLock);
  table_close(depend, AccessShareLock);
}

}  // namespace simjoin::pg
