#include "pg/dedup/definition.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteSupport.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

#include <cstring>

#include "pg/base/compat.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

constexpr int plain_arguments = 8;  // in views of 0.1.0
constexpr int tracked_arguments = 10;
constexpr Oid column_types[] = {InvalidOid, InvalidOid, BOOLOID, FLOAT8OID, INT8OID};  // ids are of any type

// Returns the query of a view or materialized view, or nullptr if there is none.
Query *query_of(Oid view) {
  HeapTuple rule = SearchSysCache2(RULERELNAME, ObjectIdGetDatum(view), CStringGetDatum(ViewSelectRuleName));
  if (!HeapTupleIsValid(rule)) return nullptr;
  bool isnull;
  const Datum action = SysCacheGetAttr(RULERELNAME, rule, Anum_pg_rewrite_ev_action, &isnull);
  auto *actions = static_cast<List *>(stringToNode(TextDatumGetCString(action)));
  ReleaseSysCache(rule);
  return linitial_node(Query, actions);
}

// Returns the number of the only relation or function that the query reads, or 0 if there is not exactly one.
int only_input_number(const Query *query) {
  if (query->jointree == nullptr || list_length(query->jointree->fromlist) != 1) return 0;
  const auto *from = static_cast<const Node *>(linitial(query->jointree->fromlist));
  return IsA(from, RangeTblRef) ? reinterpret_cast<const RangeTblRef *>(from)->rtindex : 0;
}

// Returns that relation or function, or nullptr.
const RangeTblEntry *only_input(const Query *query) {
  const int number = only_input_number(query);
  return number == 0 ? nullptr : static_cast<const RangeTblEntry *>(list_nth(query->rtable, number - 1));
}

int columns_of(const DedupDefinition &definition) {
  return static_cast<int>(std::size(column_types)) - (definition.has_entities() ? 0 : 1);
}

// Returns whether the query's rows are those of its input, and its columns the input's first ones in order.
bool is_plain(const Query *query, int columns) {
  if (query->setOperations != nullptr || query->cteList != NIL || query->jointree->quals != nullptr ||
      query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != nullptr ||
      query->distinctClause != NIL || query->sortClause != NIL || query->limitCount != nullptr ||
      query->limitOffset != nullptr || list_length(query->targetList) != columns)
    return false;
  for (int i = 0; i < columns; ++i) {
    const auto *target = static_cast<const TargetEntry *>(list_nth(query->targetList, i));
    const auto *column = reinterpret_cast<const Var *>(target->expr);
    if (target->resjunk || !IsA(column, Var) || static_cast<int>(column->varno) != only_input_number(query) ||
        column->varlevelsup != 0 || column->varattno != i + 1)
      return false;
  }
  return true;
}

// Returns whether the query, which reads one table, uses a system column of it.
bool uses_system_column(const Query *query) {
  const int number = only_input_number(query);
  Bitmapset *columns = nullptr;
  pull_varattnos(reinterpret_cast<Node *>(query->targetList), number, &columns);
  pull_varattnos(query->jointree->quals, number, &columns);
  const int first = bms_next_member(columns, -1);
  return first >= 0 && first + FirstLowInvalidHeapAttributeNumber < 0;
}

// Returns why changes of this query do not follow from changes of its table, or nullptr if they do.
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

// Returns why triggers cannot see all changes of the table, or nullptr if they can.
const char *obstacle_in_table(Oid table) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
  if (!HeapTupleIsValid(tuple)) return "the table does not exist";
  const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  const char kind = form->relkind, persistence = form->relpersistence;
  const bool partition = form->relispartition, security = form->relrowsecurity;
  ReleaseSysCache(tuple);
  if (kind == RELKIND_PARTITIONED_TABLE)
    return "the table is partitioned, and its partitions may change by themselves";
  if (kind != RELKIND_RELATION) return "the query does not read exactly one table";
  if (persistence != RELPERSISTENCE_PERMANENT) return "the table is unlogged or temporary";
  if (security) return "the table has row-level security";
  if (partition || has_superclass(table)) return "the table is a partition or inherits from another";
  if (has_subclass(table) && find_inheritance_children(table, NoLock) != NIL)
    return "other tables inherit from the table";
  return nullptr;
}

// Returns the definition that the arguments of dedup_view_groups give, without a view and with integers as
// ids. `count` is 8, or 10 if changes are tracked, in views of 0.1.0.
DedupDefinition definition_of(const Datum *arguments, int count) {
  const bool tracked = count >= tracked_arguments, entities = count == most_view_arguments;
  const Datum *rest = arguments + (entities ? 9 : tracked ? 5 : 3);
  return {InvalidOid,
          DatumGetObjectId(arguments[0]),
          DatumGetObjectId(arguments[1]),
          DatumGetObjectId(arguments[2]),
          tracked ? DatumGetObjectId(arguments[3]) : InvalidOid,
          tracked ? DatumGetObjectId(arguments[4]) : InvalidOid,
          entities ? DatumGetObjectId(arguments[5]) : InvalidOid,
          entities ? DatumGetObjectId(arguments[6]) : InvalidOid,
          entities ? DatumGetObjectId(arguments[7]) : InvalidOid,
          entities ? DatumGetObjectId(arguments[8]) : InvalidOid,
          DatumGetFloat8(rest[0]),
          TextDatumGetCString(rest[1]),
          TextDatumGetCString(rest[2]),
          TextDatumGetCString(rest[3]),
          DatumGetFloat8(rest[4]),
          InvalidOid};
}

// A search for the view that calls the function.
struct CallSearch {
  DedupDefinition call;
  DedupDefinition found;
};

// Returns whether this session refreshes the materialized view as the current user. No other statement takes
// this lock on a materialized view.
bool is_being_refreshed(Oid view) {
  Relation relation = RelationIdGetRelation(view);
  if (!RelationIsValid(relation)) return false;
  const bool is =
      relation->rd_rel->relowner == GetUserId() && CheckRelationLockedByMe(relation, ExclusiveLock, true);
  RelationClose(relation);
  return is;
}

// Gives the type of the keys that a view wants of its function, or InvalidOid where the function returns
// integers. Returns false where the view wants other columns.
bool find_key_type(const RangeTblFunction *function, int columns, Oid *key_type) {
  const List *types = function->funccoltypes;  // given if the function does not define them
  *key_type = InvalidOid;
  if (types == NIL) return true;
  if (list_length(types) != columns) return false;
  *key_type = list_nth_oid(types, 0);
  for (int i = 1; i < columns; ++i)
    if (list_nth_oid(types, i) != (OidIsValid(column_types[i]) ? column_types[i] : *key_type)) return false;
  return !is_id_type(*key_type);
}

void visit_calling_view(void *context, Oid view) {
  auto *search = static_cast<CallSearch *>(context);
  DedupDefinition definition;
  if (!find_definition(view, &definition) || definition.source != search->call.source ||
      definition.rows != search->call.rows || definition.pairs != search->call.pairs ||
      !is_being_refreshed(view))
    return;
  search->found = definition;
}

}  // namespace

bool DedupDefinition::has_weights() const {
  return std::strcmp(measure, row_measure_name({Measure::jaccard, true})) == 0 ||
         std::strcmp(measure, row_measure_name({Measure::cosine, true})) == 0;
}

RowMeasure measure_of(const DedupDefinition &definition, const char *function) {
  const RowMeasure measure = lasting_row_measure_by_name(definition.measure, function);
  check_similarity(definition.threshold, measure, function);
  return measure;
}

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

bool find_definition(Oid view, DedupDefinition *definition) {
  if (get_rel_relkind(view) != RELKIND_MATVIEW) return false;
  const Query *query = query_of(view);
  const RangeTblEntry *input = query == nullptr ? nullptr : only_input(query);
  if (input == nullptr || input->rtekind != RTE_FUNCTION || list_length(input->functions) != 1 ||
      input->funcordinality)
    return false;
  const auto *function = linitial_node(RangeTblFunction, input->functions);
  const auto *call = reinterpret_cast<FuncExpr *>(function->funcexpr);
  if (!IsA(call, FuncExpr) || !is_function(call->funcid, "simjoin_dedup_view_groups")) return false;
  Datum arguments[most_view_arguments];
  int count = 0;
  ListCell *cell;
  foreach (cell, call->args) {
    const auto *value = static_cast<const Const *>(lfirst(cell));
    if (!IsA(value, Const) || value->constisnull || count == most_view_arguments) return false;
    arguments[count++] = value->constvalue;
  }
  if (count != plain_arguments && count != tracked_arguments && count != most_view_arguments) return false;
  *definition = definition_of(arguments, count);
  definition->view = view;
  const int columns = columns_of(*definition);
  return is_plain(query, columns) && find_key_type(function, columns, &definition->key_type);
}

void raise_other_caller() {
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("dedup_view_groups can only be called by the query of a dedup view"),
                  errhint("Make a dedup view with create_dedup_view, or call duplicate_groups.")));
  pg_unreachable();
}

DedupDefinition definition_being_refreshed(const Datum *arguments, int count) {
  CallSearch search = {definition_of(arguments, count), {}};
  if (InSecurityRestrictedOperation()) for_views_over(search.call.source, visit_calling_view, &search);
  if (search.found.view == InvalidOid) raise_other_caller();
  return search.found;
}

TrackedTable tracked_table(Oid source) {
  const Query *query = query_of(source);
  const RangeTblEntry *input = query == nullptr ? nullptr : only_input(query);
  if (input == nullptr || input->rtekind != RTE_RELATION || query->setOperations != nullptr)
    return {InvalidOid, 0};
  if (query->targetList == NIL) return {input->relid, 0};
  const auto *target = linitial_node(TargetEntry, query->targetList);
  const auto *id = reinterpret_cast<const Var *>(target->expr);
  const bool is_column = !target->resjunk && IsA(id, Var) && id->varlevelsup == 0 && id->varattno > 0;
  return {input->relid, is_column ? id->varattno : AttrNumber{0}};
}

const char *obstacle_in(Oid source) {
  Query *query = query_of(source);
  if (query == nullptr) return "the query is missing";
  const char *obstacle = obstacle_in_query(query);
  if (obstacle != nullptr) return obstacle;
  const TrackedTable tracked = tracked_table(source);
  if (tracked.id == 0) return "the query's id is not a column of its table";
  return obstacle_in_table(tracked.table);
}

bool has_index_on(Oid table, AttrNumber column) {
  Relation relation = table_open(table, AccessShareLock);
  List *indexes = RelationGetIndexList(relation);
  table_close(relation, NoLock);
  ListCell *cell;
  foreach (cell, indexes) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
    if (!HeapTupleIsValid(tuple)) continue;
    const auto *index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    const bool finds = index->indisvalid && index->indkey.values[0] == column &&
                       heap_attisnull(tuple, Anum_pg_index_indpred, nullptr);
    ReleaseSysCache(tuple);
    if (finds) return true;
  }
  return false;
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
