// What a merge would do, without any of it.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
}

#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/merge/merge_call.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// Returns the table of a row type.
Oid table_of(const Statements &on, Oid type) {
  const Oid table = get_typ_typrelid(getBaseType(type));
  if (OidIsValid(table) && getBaseType(type) == type) return table;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: %s is not the row type of a table", on.function, format_type_be(type)),
                  errhint("Name the table as a type: merge_preview('groups', NULL::companies).")));
  pg_unreachable();
}

// Returns a query for the rows that survive, as values of the table's row type.
const char *surviving_rows(const MergeCall &call) {
  const TableShape &table = call.table;
  const ReferencingTable *self = nullptr;
  for (int i = 0; i < call.references.count; ++i)
    if (call.references.tables[i].self) self = &call.references.tables[i];
  const char *values = joined(table.column_count, ", ", [&](int column) {
    for (int i = 0; i < call.rules.count; ++i)
      if (call.rules.rules[i].column == column) return static_cast<const char *>(psprintf("m.v%d", i));
    if (self != nullptr) return redirected_value(*self, column, "b");
    return static_cast<const char *>(psprintf("b.%s", table.columns[column].name));
  });
  const char *rows = psprintf("%sfound", table.journal.prefix);
  const char *joins = self == nullptr ? "" : left_joined_targets({&table, rows}, *self, "b");
  return psprintf(
      "WITH %s AS MATERIALIZED (%s) SELECT CAST(ROW(%s) AS %s) FROM (%s) m JOIN %s b ON b.%s "
      "OPERATOR(pg_catalog.=) m.entry AND b.%s "
      "OPERATOR(pg_catalog.=) 'before' %s ORDER BY %s",
      rows, member_rows(call.groups, table), values, table.name, merged_values(call.rules, table, rows), rows,
      table.journal.entry, table.journal.action, joins, table.key_list("b"));
}

// Returns a query that computes the generated columns of the rows in $1 anew.
const char *with_generated(const TableShape &table) {
  const char *values = joined(table.column_count, ", ", [&](int i) {
    return table.columns[i].expression == nullptr ? table.columns[i].name
                                                  : psprintf("(%s)", table.columns[i].expression);
  });
  return psprintf("SELECT CAST(ROW(%s) AS %s) FROM pg_catalog.unnest($1)", values, table.name);
}

bool has_generated(const TableShape &table) {
  for (int i = 0; i < table.column_count; ++i)
    if (table.columns[i].generated) return true;
  return false;
}

// Adds a value of the row type as a row.
void add_row(Datum value, ResultRows *result) {
  HeapTupleHeader header = DatumGetHeapTupleHeader(value);
  HeapTupleData tuple = {};
  tuple.t_len = HeapTupleHeaderGetDatumLength(header);
  tuple.t_data = header;
  const int columns = result->columns()->natts;
  const auto values = static_cast<Datum *>(palloc(sizeof(Datum) * (columns + 1)));
  const auto nulls = static_cast<bool *>(palloc(sizeof(bool) * (columns + 1)));
  heap_deform_tuple(&tuple, result->columns(), values, nulls);
  result->add(values, nulls);
  pfree(values);
  pfree(nulls);
}

void add_counts(ResultRows *result, Oid relation, int64 deleted, int64 updated) {
  result->add({ObjectIdGetDatum(relation), Int64GetDatum(deleted), Int64GetDatum(updated)});
}

// Says that a merge with on_conflict => 'error' would end with one.
void warn_of_conflicts(const MergeCall &call, const ReferencingTable &referencing, int64 lost) {
  ereport(WARNING,
          (errcode(ERRCODE_UNIQUE_VIOLATION),
           errmsg("%s: rows of %s would repeat others in a unique index, which would be an error",
                  call.on.function, referencing.shape.name),
           errdetail("With on_conflict => 'delete', " INT64_FORMAT " of them would go.", lost),
           errhint("Give on_conflict => 'delete', or change one of the equal rows before the merge.")));
}

// Counts the rows of referencing tables that would be deleted and updated.
void add_reference_counts(const MergeCall &call, const GroupRows &rows, const char *with,
                          ResultRows *result) {
  if (call.references.count == 0) return;
  const char *counts = joined(call.references.count, " UNION ALL ", [&](int i) {
    return psprintf(
        "SELECT %d AS number, pg_catalog.count(*) FILTER (WHERE f.lost) AS lost, pg_catalog.count(*) FILTER "
        "(WHERE NOT f.lost) FROM (%s) f",
        i, redirected_rows(rows, call.references.tables[i], OnConflict::remove));
  });
  const TextRows each = call.on.read(psprintf("%s%s ORDER BY number", with, counts), call.groups.parameters);
  for (int i = 0; i < each.rows; ++i) {
    const ReferencingTable &referencing = call.references.tables[i];
    const int64 lost = each.number_at(i, 1), moved = each.number_at(i, 2);
    const bool removes = call.on_conflict == OnConflict::remove;
    if (lost > 0 && removes) check_losses(call, rows, referencing, with, call.groups.parameters);
    if (lost > 0 && !removes) warn_of_conflicts(call, referencing, lost);
    if (lost + moved > 0)
      add_counts(result, referencing.shape.oid, removes ? lost : 0, removes ? moved : lost + moved);
  }
}

// Nothing is known of rows in WITH clauses, so that the planner would take nested loops over all of them.
// They are forbidden for many rows, until the nesting level of settings ends that is returned.
int plan_for(const GroupsInput &groups) {
  const int level = NewGUCNestLevel();
  if (groups.pairs > 1000) set_until_end("enable_nestloop", "off");
  return level;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_merge_preview);
Datum simjoin_merge_preview(PG_FUNCTION_ARGS) {
  const Statements on = {"merge_preview", true};
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(on.function, {"row", "newest_by", "id"});
  const Oid table = table_of(on, arguments.type("row"));
  ResultRows result(fcinfo);
  const MergeCall call = read_call(on, arguments, table);
  const int level = plan_for(call.groups);
  const auto take = [&](Datum value, bool) { add_row(value, &result); };
  if (!has_generated(call.table)) {
    on.read_each(surviving_rows(call), call.groups.parameters, Path::callers, take);
    AtEOXact_GUC(true, level);
    return 0;
  }
  Datum rows;
  bool isnull;
  Oid type;
  on.read_values(psprintf("SELECT pg_catalog.array_agg(r) FROM (%s) s (r)", surviving_rows(call)), 1, &rows,
                 &isnull, &type, call.groups.parameters, Path::callers);
  on.read_each(with_generated(call.table), Parameters().with(type, rows, isnull), Path::fixed, take);
  AtEOXact_GUC(true, level);
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_merge_counts);
Datum simjoin_merge_counts(PG_FUNCTION_ARGS) {
  const Statements on = {"merge_counts", true};
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(on.function, {"newest_by", "id"});
  const MergeCall call = read_call(on, arguments, arguments.oid("table"));
  const int level = plan_for(call.groups);
  const TableShape &table = call.table;
  const char *name = psprintf("%sfound", table.journal.prefix);
  const GroupRows rows = {&table, name};
  const char *with = psprintf("WITH %s AS MATERIALIZED (%s) ", name, member_rows(call.groups, table));
  const TextRows own =
      on.read(psprintf("%sSELECT pg_catalog.count(*) FILTER (WHERE %s OPERATOR(pg_catalog.=) 'deleted'), "
                       "pg_catalog.count(*) FILTER (WHERE %s OPERATOR(pg_catalog.=) 'before') FROM %s",
                       with, table.journal.action, table.journal.action, name),
              call.groups.parameters);
  add_counts(&result, table.oid, own.number_at(0, 0), call.rules.count == 0 ? 0 : own.number_at(0, 1));
  for (int i = 0; i < call.references.count; ++i)
    check_targets(call, rows, call.references.tables[i], with, call.groups.parameters);
  add_reference_counts(call, rows, with, &result);
  AtEOXact_GUC(true, level);
  return 0;
}
}

}  // namespace simjoin::pg
