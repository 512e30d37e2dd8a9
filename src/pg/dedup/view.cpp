// Making, refreshing and dropping dedup views.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/varlena.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/distributed.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/dedup/definition.hpp"
#include "pg/dedup/groups.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/dedup/parts.hpp"
#include "pg/dedup/refresh.hpp"
#include "pg/dedup/table_triggers.hpp"
#include "pg/dedup/triggers.hpp"
#include "pg/functions/duplicate_grouping.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// The arguments of create_dedup_view, in order.
enum Argument {
  Arg_view,
  Arg_query,
  Arg_threshold,
  Arg_measure,
  Arg_method,
  Arg_keep,
  Arg_max_group_share,
  Arg_track_changes
};

// The quoted names of a view and of what belongs to it.
struct ViewNames {
  const char *view;
  const char *source;
  const char *rows;
  const char *pairs;
  const char *changes;  // this and the next are used where changes are tracked
  const char *order;
  const char *entities;
  const char *entity_ids;  // the sequence that they come from
  const char *history;
};

// Runs a statement that runs the query of a dedup view.
void execute_for(const char *function, const char *statement) {
  const char *before = set_refreshing_function(function);
  PG_TRY();
  { execute_statement(statement); }
  PG_FINALLY();
  { set_refreshing_function(before); }
  PG_END_TRY();
}

// Returns the names for a new view. The name of a part ends in a number where its name is taken already.
ViewNames new_names(text *name) {
  RangeVar *range = makeRangeVarFromNameList(textToQualifiedNameList(name));
  const Oid schema = RangeVarGetCreationNamespace(range);
  const auto quoted = [&](const char *relation) {
    return quote_qualified_identifier(get_namespace_name(schema), relation);
  };
  const auto beside = [&](const char *label) {
    return quoted(ChooseRelationName(range->relname, nullptr, label, schema, false));
  };
  return {quoted(range->relname), beside("source"),     beside("rows"),
          beside("pairs"),        beside("changes"),    beside("order"),
          beside("entities"),     beside("entity_ids"), beside("history")};
}

// Errors unless the query is a single SELECT, VALUES or TABLE, which a view can be made of.
void check_query(const char *query, const char *function) {
  List *statements = NIL;
  parse_query(query, [&] { statements = pg_parse_query(query); });
  if (list_length(statements) == 1 && IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt)) return;
  ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                  errmsg("%s: the query must be a single SELECT statement", function)));
}

Oid oid_of(const char *quoted_name) {
  return DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(quoted_name)));
}

void create_source(const ViewNames &names, const char *query) {
  execute_statement(psprintf("CREATE VIEW %s AS %s", names.source, query));
  execute_statement(psprintf("COMMENT ON VIEW %s IS 'query of a dedup view of simjoin'", names.source));
}

// Returns the type of the ids, as in a column definition, or nullptr where they are integers.
const char *key_type_of(const ViewNames &names) {
  const Oid source = oid_of(names.source);
  if (!OidIsValid(get_atttype(source, 1))) return nullptr;  // a query without columns is refused later
  Oid type, collation;
  int32 modifier;
  get_atttypetypmodcoll(source, 1, &type, &modifier, &collation);
  if (is_id_type(type)) return nullptr;
  const char *name =
      format_type_extended(type, modifier, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
  return OidIsValid(collation) ? psprintf("%s COLLATE %s", name, generate_collation_name(collation)) : name;
}

void create_tables(const ViewNames &names, bool tracked, bool weighted, const char *key_type) {
  const char *prefix =
      weighted
          ? ", total double precision NOT NULL, prefix int[] NOT NULL, masses double precision[] NOT NULL"
          : ", size int NOT NULL, prefix int[] NOT NULL";
  execute_statement(psprintf(
      "CREATE TABLE %s (id bigint PRIMARY KEY, fingerprint pg_catalog.uuid NOT NULL%s%s);"
      "CREATE TABLE %s (a bigint, b bigint, similarity double precision NOT NULL, PRIMARY KEY (a, b));"
      "CREATE INDEX ON %s (b);",
      names.rows, tracked ? prefix : "", key_type == nullptr ? "" : psprintf(", key %s NOT NULL", key_type),
      names.pairs, names.pairs));
  execute_statement(
      psprintf("COMMENT ON TABLE %s IS 'rows of a dedup view of simjoin at its last refresh';"
               "COMMENT ON TABLE %s IS 'similar pairs of a dedup view of simjoin at its last refresh'",
               names.rows, names.pairs));
  if (!tracked) return;
  // The index has no list of pending entries, since each look-up would read all of that list. The table of
  // the order has a single row, but a key: without one it could not be updated where a publication is for all
  // tables.
  execute_statement(psprintf(
      "CREATE INDEX ON %s USING gin (prefix pg_catalog.array_ops) WITH (fastupdate = off);"
      "CREATE TABLE %s (%s);"
      "CREATE TABLE %s (rows bigint NOT NULL, ordered_rows bigint PRIMARY KEY, frequent int[] NOT NULL)",
      names.rows, names.changes,
      key_type == nullptr ? "first_id bigint, last_id bigint" : psprintf("key %s", key_type), names.order));
  if (key_type != nullptr) execute_statement(psprintf("CREATE UNIQUE INDEX ON %s (key)", names.rows));
  execute_statement(psprintf(
      "COMMENT ON TABLE %s IS 'ids that have changed since the last refresh of a dedup view of simjoin';"
      "COMMENT ON TABLE %s IS 'order of the tokens of a dedup view of simjoin'",
      names.changes, names.order));
}

// Returns whether the extension, in this schema, has the function of views with entities. That of 0.1.0,
// which this library also serves, has it not.
bool has_function_of_entities(const char *schema) {
  const Oid types[] = {REGCLASSOID, REGCLASSOID, REGCLASSOID, REGCLASSOID, REGCLASSOID, REGCLASSOID,
                       REGCLASSOID, FLOAT8OID,   TEXTOID,     TEXTOID,     TEXTOID,     FLOAT8OID};
  List *name = list_make2(makeString(pstrdup(schema)), makeString(pstrdup("dedup_view_groups")));
  return OidIsValid(LookupFuncName(name, static_cast<int>(std::size(types)), types, true));
}

void create_entity_tables(const ViewNames &names) {
  execute_statement(
      psprintf("CREATE TABLE %s (id bigint PRIMARY KEY, entity_id bigint NOT NULL);"
               "CREATE SEQUENCE %s OWNED BY %s.entity_id;"
               "CREATE TABLE %s (at timestamptz NOT NULL, event text NOT NULL, entity_id bigint NOT NULL, "
               "to_entity_id bigint, rows bigint NOT NULL)",
               names.entities, names.entity_ids, names.entities, names.history));
  execute_statement(
      psprintf("COMMENT ON TABLE %s IS 'entities of the rows of a dedup view of simjoin at its last refresh';"
               "COMMENT ON TABLE %s IS 'what became of entities of a dedup view of simjoin'",
               names.entities, names.history));
}

// Warns where the table has no index on the ids, by which refreshes look rows up.
void warn_of_missing_index(const TrackedTable &tracked, const char *function) {
  if (has_index_on(tracked.table, tracked.id)) return;
  const char *table = relation_name(tracked.table);
  const char *id = quote_identifier(get_attname(tracked.table, tracked.id, false));
  ereport(WARNING, (errmsg("%s: %s has no index on %s, so that each refresh reads the whole table", function,
                           table, id),
                    errhint("Make one with CREATE UNIQUE INDEX ON %s (%s).", table, id)));
}

// Makes the triggers on the table that the view's query reads. Waits for writers that have begun. Errors
// where changes of the query cannot be tracked.
void create_triggers(const ViewNames &names, const GroupingOptions &options, const char *key_type,
                     const char *schema, const char *function) {
  const Oid source = oid_of(names.source);
  const TrackedTable tracked = tracked_table(source);
  const char *obstacle = obstacle_in(source);
  if (obstacle == nullptr && options.keep_first_row && !has_order(source))
    obstacle = "to keep the first row, the query needs ORDER BY";
  if (obstacle == nullptr && key_type != nullptr && !can_look_up(get_atttype(source, 1)))
    obstacle = "the ids are arrays";
  if (obstacle == nullptr && is_distributed_table(tracked.table))
    obstacle = "Citus keeps the table's rows in other tables";
  if (obstacle != nullptr)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("%s: changes cannot be tracked: %s", function, obstacle),
                    errhint("Leave out track_changes: refreshes then read all rows to find the changes.")));
  warn_of_missing_index(tracked, function);
  note_missing_triggers(tracked.table);
  execute_statement(trigger_statements(tracked.table, schema));
}

// Creates the materialized view, which fills itself and its tables, and its indexes.
void create_view(FunctionCallInfo fcinfo, const ViewNames &names, bool entities, const char *key_type,
                 const char *schema, const char *function) {
  const bool tracked = PG_GETARG_BOOL(Arg_track_changes);
  StringInfoData statement;
  initStringInfo(&statement);
  appendStringInfo(&statement,
                   "CREATE MATERIALIZED VIEW %s AS SELECT id, group_id, is_representative, similarity%s FROM "
                   "%s(%s::pg_catalog.regclass, %s::pg_catalog.regclass, %s::pg_catalog.regclass",
                   names.view, entities ? ", entity_id" : "",
                   quote_qualified_identifier(
                       schema, key_type == nullptr ? "dedup_view_groups" : "dedup_view_groups_of_keys"),
                   quote_literal_cstr(names.source), quote_literal_cstr(names.rows),
                   quote_literal_cstr(names.pairs));
  if (tracked || entities)
    appendStringInfo(&statement, ", %s::pg_catalog.regclass, %s::pg_catalog.regclass",
                     tracked ? quote_literal_cstr(names.changes) : "'-'",
                     tracked ? quote_literal_cstr(names.order) : "'-'");
  if (entities)
    appendStringInfo(&statement, ", %s::pg_catalog.regclass, %s::pg_catalog.regclass",
                     quote_literal_cstr(names.entities), quote_literal_cstr(names.history));
  appendStringInfo(&statement, ", '%s'::double precision, %s, %s, %s, '%s'::double precision)",
                   float8out_internal(PG_GETARG_FLOAT8(Arg_threshold)),
                   quote_literal_cstr(string_argument(fcinfo, Arg_measure)),
                   quote_literal_cstr(string_argument(fcinfo, Arg_method)),
                   quote_literal_cstr(string_argument(fcinfo, Arg_keep)),
                   float8out_internal(PG_GETARG_FLOAT8(Arg_max_group_share)));
  if (key_type != nullptr)
    appendStringInfo(&statement,
                     " AS groups (id %s, group_id %s, is_representative pg_catalog.bool, similarity double "
                     "precision, entity_id bigint)",
                     key_type, key_type);
  execute_for(function, statement.data);
  execute_statement(
      psprintf("CREATE UNIQUE INDEX ON %s (id); CREATE INDEX ON %s (group_id)", names.view, names.view));
}

// Returns the definition of a dedup view. Errors, naming `function`, where the relation is not a dedup view.
DedupDefinition definition_of_view(Oid view, const char *function) {
  DedupDefinition definition;
  if (!find_definition(view, &definition))
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("%s: %s is not a dedup view", function, relation_name(view)),
                    errhint("Make one with create_dedup_view.")));
  return definition;
}

[[noreturn]] void raise_gone(const char *view, const char *function) {
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                  errmsg("%s: the dedup view %s has been dropped meanwhile", function, view)));
  pg_unreachable();
}

// Locks the table whose changes the view tracks, if any, and repairs its triggers. Returns whether they
// needed it. Every session locks this table first and then the view, since writers lock the table first, and
// then the tables that their triggers write to.
bool lock_tracked_table(const DedupDefinition &definition, const char *function) {
  if (!definition.tracked()) return false;
  const Oid table = tracked_table(definition.source).table;
  if (table == InvalidOid) return false;
  LockRelationOid(table, AccessShareLock);
  return mend_triggers(definition, function);
}

// Does so, and then locks and opens the view.
Relation lock_for_refresh(const DedupDefinition &definition, bool concurrently, const char *function,
                          bool *mended) {
  const char *name = relation_name(definition.view);
  *mended = lock_tracked_table(definition, function);
  // The lock is as strong as REFRESH will need. A refresh from changes lets readers go on in any case.
  const LOCKMODE lock = concurrently || definition.tracked() ? ExclusiveLock : AccessExclusiveLock;
  Relation view = try_relation_open(definition.view, lock);
  if (view == nullptr) raise_gone(name, function);
  CheckTableNotInUse(view, "REFRESH MATERIALIZED VIEW");
  return view;
}

// Locks the table, unless it is InvalidOid, and then the view. REFRESH MATERIALIZED VIEW locks them the other
// way round, so the table is unlocked while the view is waited for.
void lock_for_drop(Oid table, Oid view) {
  for (;;) {
    if (table != InvalidOid) LockRelationOid(table, AccessExclusiveLock);
    if (ConditionalLockRelationOid(view, AccessExclusiveLock)) return;
    if (table != InvalidOid) UnlockRelationOid(table, AccessExclusiveLock);
    LockRelationOid(view, AccessExclusiveLock);
    if (table == InvalidOid) return;
    UnlockRelationOid(view, AccessExclusiveLock);
  }
}

// Drops the view, the parts that count as its own, and the triggers that no other view needs.
void drop_view(Oid view, const char *function) {
  DedupDefinition definition = definition_of_view(view, function);
  const char *name = relation_name(view);
  compat::check_owns(view, OBJECT_MATVIEW);
  Oid table = definition.tracked() ? tracked_table(definition.source).table : InvalidOid;
  if (!is_owned(table)) table = InvalidOid;  // its owner then drops the triggers
  lock_for_drop(table, view);
  if (!find_definition(view, &definition)) raise_gone(name, function);
  record_parts(definition);
  // The table may be gone if the query has meanwhile been given another table.
  const char *triggers = is_owned(table) ? drop_trigger_statements(table, view) : "";
  execute_statement(psprintf("DROP MATERIALIZED VIEW %s;%s", relation_name(view), triggers));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_create_dedup_view);
Datum simjoin_create_dedup_view(PG_FUNCTION_ARGS) {
  constexpr const char *function = "create_dedup_view";
  const RowMeasure measure = lasting_row_measure_by_name(string_argument(fcinfo, Arg_measure), function);
  check_similarity(PG_GETARG_FLOAT8(Arg_threshold), measure, function);
  const GroupingOptions options =
      grouping_options(string_argument(fcinfo, Arg_method), string_argument(fcinfo, Arg_keep),
                       PG_GETARG_FLOAT8(Arg_max_group_share), function);
  const bool tracked = PG_GETARG_BOOL(Arg_track_changes);
  check_query(string_argument(fcinfo, Arg_query), function);
  const char *schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
  const ViewNames names = new_names(PG_GETARG_TEXT_PP(Arg_view));
  create_source(names, string_argument(fcinfo, Arg_query));
  const char *key_type = key_type_of(names);
  if (tracked) create_triggers(names, options, key_type, quote_identifier(schema), function);
  create_tables(names, tracked, measure.weighted, key_type);
  const bool entities = key_type != nullptr || has_function_of_entities(schema);
  if (entities) create_entity_tables(names);
  create_view(fcinfo, names, entities, key_type, schema, function);
  PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(simjoin_refresh_dedup_view);
Datum simjoin_refresh_dedup_view(PG_FUNCTION_ARGS) {
  constexpr const char *function = "refresh_dedup_view";
  ResultRows result(fcinfo);
  const Oid view = PG_GETARG_OID(0);
  const DedupDefinition definition = definition_of_view(view, function);
  compat::check_may_refresh(view);
  const bool concurrently = PG_GETARG_BOOL(1);
  bool mended;
  Relation relation = lock_for_refresh(definition, concurrently, function, &mended);
  RefreshFigures figures;
  const bool from_changes = !mended && refresh_from_changes(relation, definition, &figures);
  const char *how = concurrently && RelationIsPopulated(relation) ? "CONCURRENTLY " : "";
  relation_close(relation, NoLock);
  if (!from_changes) {
    execute_for(function, psprintf("REFRESH MATERIALIZED VIEW %s%s", how, relation_name(view)));
    figures = last_refresh_figures();
  }
  result.add({Int64GetDatum(figures.rows), Int64GetDatum(figures.new_rows),
              Int64GetDatum(figures.changed_rows), Int64GetDatum(figures.removed_rows),
              Int64GetDatum(figures.new_pairs), Int64GetDatum(figures.read_rows)});
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_drop_dedup_view);
Datum simjoin_drop_dedup_view(PG_FUNCTION_ARGS) {
  constexpr const char *function = "drop_dedup_view";
  drop_view(PG_GETARG_OID(0), function);
  PG_RETURN_VOID();
}
}

}  // namespace simjoin::pg
