// Making dedup views.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/varlena.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/distributed.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/dedup/definition.hpp"
#include "pg/dedup/groups.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/dedup/table_triggers.hpp"
#include "pg/dedup/triggers.hpp"
#include "pg/functions/duplicate_grouping.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

// A call of create_dedup_view.
struct CreateCall {
  const char *function;
  const char *schema;  // of the extension
  const char *query;
  double threshold;
  const char *measure;
  const char *method;
  const char *keep;
  double max_group_share;
  bool tracked;
  const char *verdicts;  // a query, or nullptr
  bool weighted;
  bool keeps_first_row;
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
  const char *verdicts;  // a view
  const char *judged;    // used where changes are tracked, too
};

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
  return {quoted(range->relname), beside("source"),   beside("rows"),     beside("pairs"),
          beside("changes"),      beside("order"),    beside("entities"), beside("entity_ids"),
          beside("history"),      beside("verdicts"), beside("judged")};
}

// Errors unless the query is a single SELECT, VALUES or TABLE, which a view can be made of. `what` it is.
void check_query(const char *query, const char *what, const char *function) {
  List *statements = NIL;
  parse_query(query, [&] { statements = pg_parse_query(query); });
  if (list_length(statements) == 1 && IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt)) return;
  ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                  errmsg("%s: %s must be a single SELECT statement", function, what)));
}

Oid oid_of(const char *quoted_name) {
  return DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(quoted_name)));
}

// Gives the error of a query with too few columns a hint.
void hint_at_verdict_columns(void *) {
  if (geterrcode() == ERRCODE_SYNTAX_ERROR)
    errhint("A query for verdicts returns two ids and a text, as in SELECT a, b, verdict FROM verdicts.");
}

void create_query_view(const char *name, const char *columns, const char *query, const char *what) {
  execute_statement(psprintf("CREATE VIEW %s%s AS %s", name, columns, query));
  execute_statement(psprintf("COMMENT ON VIEW %s IS '%s of a dedup view of simjoin'", name, what));
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
  const Oid types[] = {REGCLASSOID, REGCLASSOID, REGCLASSOID, REGCLASSOID, REGCLASSOID,
                       REGCLASSOID, REGCLASSOID, REGCLASSOID, REGCLASSOID, FLOAT8OID,
                       TEXTOID,     TEXTOID,     TEXTOID,     FLOAT8OID};
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

void create_verdict_view(const ViewNames &names, const char *query) {
  ErrorContextCallback hint = {error_context_stack, hint_at_verdict_columns, nullptr};
  error_context_stack = &hint;
  create_query_view(names.verdicts, " (a, b, verdict)", query, "verdicts");
  error_context_stack = hint.previous;
}

void create_judged_table(const ViewNames &names) {
  execute_statement(
      psprintf("CREATE TABLE %s (a bigint, b bigint, same bool, PRIMARY KEY (a, b, same));"
               "COMMENT ON TABLE %s IS 'verdicts that bound the groups of a dedup view of simjoin at its "
               "last refresh'",
               names.judged, names.judged));
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
void create_triggers(const ViewNames &names, const CreateCall &call, const char *key_type) {
  const char *function = call.function;
  const Oid source = oid_of(names.source);
  const TrackedTable tracked = tracked_table(source);
  const char *obstacle = obstacle_in(source);
  if (obstacle == nullptr && call.keeps_first_row && !has_order(source))
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
  execute_statement(trigger_statements(tracked.table, quote_identifier(call.schema)));
}

// Creates the materialized view, which fills itself and its tables, and its indexes.
void create_view(const ViewNames &names, const CreateCall &call, bool entities, const char *key_type) {
  StringInfoData statement;
  initStringInfo(&statement);
  const auto add_part = [&](const char *name, bool there) {
    appendStringInfo(&statement, "%s::pg_catalog.regclass, ", there ? quote_literal_cstr(name) : "'-'");
  };
  appendStringInfo(
      &statement,
      "CREATE MATERIALIZED VIEW %s AS SELECT id, group_id, is_representative, similarity%s FROM %s(",
      names.view, entities ? ", entity_id" : "",
      quote_qualified_identifier(call.schema,
                                 key_type == nullptr ? "dedup_view_groups" : "dedup_view_groups_of_keys"));
  for (const char *name : {names.source, names.rows, names.pairs}) add_part(name, true);
  if (call.tracked || entities)
    for (const char *name : {names.changes, names.order}) add_part(name, call.tracked);
  if (entities) {
    for (const char *name : {names.entities, names.history}) add_part(name, true);
    add_part(names.verdicts, call.verdicts != nullptr);
    add_part(names.judged, call.verdicts != nullptr && call.tracked);
  }
  appendStringInfo(&statement, "'%s'::double precision, %s, %s, %s, '%s'::double precision)",
                   float8out_internal(call.threshold), quote_literal_cstr(call.measure),
                   quote_literal_cstr(call.method), quote_literal_cstr(call.keep),
                   float8out_internal(call.max_group_share));
  if (key_type != nullptr)
    appendStringInfo(&statement,
                     " AS groups (id %s, group_id %s, is_representative pg_catalog.bool, similarity double "
                     "precision, entity_id bigint)",
                     key_type, key_type);
  execute_for(call.function, statement.data);
  execute_statement(
      psprintf("CREATE UNIQUE INDEX ON %s (id); CREATE INDEX ON %s (group_id)", names.view, names.view));
}

// Returns the call with these arguments, which have been checked.
CreateCall create_call(const NamedArguments &arguments, const char *schema) {
  CreateCall call = {"create_dedup_view",
                     schema,
                     arguments.string("query"),
                     arguments.real("threshold"),
                     arguments.string("measure"),
                     arguments.string("method"),
                     arguments.string("keep"),
                     arguments.real("max_group_share"),
                     arguments.boolean("track_changes"),
                     arguments.optional_string("verdicts"),
                     false,
                     false};
  const RowMeasure measure = lasting_row_measure_by_name(call.measure, call.function);
  check_similarity(call.threshold, measure, call.function);
  call.weighted = measure.weighted;
  call.keeps_first_row =
      grouping_options(call.method, call.keep, call.max_group_share, call.verdicts != nullptr, call.function)
          .keep_first_row;
  check_query(call.query, "the query", call.function);
  if (call.verdicts != nullptr) check_query(call.verdicts, "the query for verdicts", call.function);
  return call;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_create_dedup_view);
Datum simjoin_create_dedup_view(PG_FUNCTION_ARGS) {
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null("create_dedup_view", {"verdicts"});
  const char *schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
  const CreateCall call = create_call(arguments, schema);
  const ViewNames names = new_names(cstring_to_text(arguments.string("view")));
  create_query_view(names.source, "", call.query, "query");
  const char *key_type = key_type_of(names);
  if (call.tracked) create_triggers(names, call, key_type);
  create_tables(names, call.tracked, call.weighted, key_type);
  const bool entities = key_type != nullptr || has_function_of_entities(schema);
  if (entities) create_entity_tables(names);
  if (call.verdicts != nullptr) create_verdict_view(names, call.verdicts);
  if (call.verdicts != nullptr && call.tracked) create_judged_table(names);
  create_view(names, call, entities, key_type);
  PG_RETURN_VOID();
}
}

}  // namespace simjoin::pg
