// merge_duplicates: rows of groups become one row each.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/xact.h"
}

#include "pg/merge/journal.hpp"
#include "pg/merge/merge_call.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// Locks rows, t in the query, that others are deleted in favour of. With a snapshot older than our locks of
// the tables, another session may have deleted or changed them: that is an error.
void lock_rows_that_stay(const MergeCall &call, const char *query) {
  if (IsolationUsesXactSnapshot())
    call.on.run(psprintf("SELECT pg_catalog.count(*) FROM (%s FOR SHARE OF t) l", query));
}

// Fills the journal with the rows of groups. Returns nullptr where there are none.
JournalPart *journal_groups(const MergeCall &call, Journal *journal) {
  JournalPart *part = add_part(call.on, journal, call.table, true);
  for (int i = 0; i < call.rules.count; ++i)
    part->columns[part->column_count++] = call.table.columns[call.rules.rules[i].column].plain_name;
  const uint64 rows =
      call.on.run(psprintf("INSERT INTO %s %s", part->name, member_rows(call.groups, call.table)),
                  call.groups.parameters);
  if (rows == 0) return nullptr;
  call.on.run(psprintf("ANALYZE %s", part->name));
  lock_rows_that_stay(
      call,
      psprintf("SELECT FROM %s t JOIN %s p ON %s WHERE p.%s OPERATOR(pg_catalog.=) 'before'",
               call.table.only(), part->name, call.table.same_key("t", "p"), call.table.journal.action));
  return part;
}

// Fills a part with the rows that are redirected or lost. Rows that are redirected need their key and the
// columns that change; without a key, all columns.
uint64 journal_references(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                          JournalPart *part) {
  const TableShape &shape = referencing.shape;
  for (int i = 0; i < shape.column_count; ++i)
    if (referencing.redirects(i)) part->columns[part->column_count++] = shape.columns[i].plain_name;
  const char *values = joined(shape.column_count, ", ", [&](int i) {
    const bool needed = shape.key_count == 0 || shape.is_key(i) || referencing.redirects(i);
    return psprintf(needed ? "f.b%d" : "CASE WHEN f.lost THEN f.b%d END", i + 1);
  });
  return call.on.run(
      psprintf("INSERT INTO %s SELECT pg_catalog.row_number() OVER (), CASE WHEN f.lost THEN 'deleted' ELSE "
               "'before' END, f.merge_table, f.merge_row, %s FROM (%s) f",
               part->name, values, redirected_rows(rows, referencing, call.on_conflict)));
}

// Redirects the rows that the part has.
void write_references(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                      const JournalPart &part, uint64 expected) {
  const TableShape &shape = referencing.shape;
  const JournalColumns &marks = shape.journal;
  StringInfoData changes;
  initStringInfo(&changes);
  for (int i = 0; i < shape.column_count; ++i)
    if (referencing.redirects(i))
      appendStringInfo(&changes, "%s%s = n.c%d", changes.len == 0 ? "" : ", ", shape.columns[i].name, i + 1);
  const auto kept = [&](const char *alias) {
    return joined(shape.column_count, "", [&](int i) -> const char * {
      if (shape.key_count > 0 && !shape.is_key(i) && !referencing.redirects(i)) return "";
      return psprintf(", %s%s%s", alias, alias[0] == '\0' ? "" : ".", shape.columns[i].name);
    });
  };
  const char *statement = psprintf(
      "WITH written AS (UPDATE %s AS t SET %s FROM (%s) n WHERE t.ctid OPERATOR(pg_catalog.=) n.merge_row "
      "AND t.tableoid "
      "OPERATOR(pg_catalog.=) n.merge_table RETURNING n.entry AS %s%s) INSERT INTO %s (%s, %s%s) SELECT "
      "w.%s, 'after'%s FROM written w",
      shape.only(), changes.data, new_references(rows, referencing, part.name), marks.entry, kept("t"),
      part.name, marks.entry, marks.action, kept(""), marks.entry, kept("w"));
  const char *hint =
      call.on_conflict == OnConflict::error && !referencing.self
          ? "With on_conflict => 'delete', rows that were redirected go where they would repeat another row."
          : "Delete or change one of the rows that would be equal, before the merge.";
  uint64 written = 0;
  with_hint(ERRCODE_UNIQUE_VIOLATION, hint, [&] { written = call.on.run(statement, {}, Path::callers); });
  check_written(call.on, written, expected, shape);
}

// Redirects the rows of a referencing table, and notes it in the journal. Returns whether there were any.
bool redirect(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
              Journal *journal) {
  const Statements &on = call.on;
  const TableShape &shape = referencing.shape;
  const JournalColumns &marks = shape.journal;
  check_targets(call, rows, referencing, "", {});
  JournalPart *part = add_part(on, journal, shape, false);
  const uint64 found = journal_references(call, rows, referencing, part);
  if (found == 0) {
    on.run(psprintf("DROP TABLE %s", part->name));
    --journal->part_count;
    return false;
  }
  on.run(psprintf("ANALYZE %s", part->name));
  const uint64 lost = call.on_conflict == OnConflict::remove ? count_of(on, *part, marks, "deleted") : 0;
  if (lost > 0) {
    check_losses(call, rows, referencing, "", {});
    lock_rows_that_stay(call, rows_of_groups(rows, referencing));
    const char *statement = psprintf(
        "DELETE FROM %s AS t USING %s p WHERE p.%s OPERATOR(pg_catalog.=) 'deleted' AND t.ctid "
        "OPERATOR(pg_catalog.=) p.%s AND "
        "t.tableoid OPERATOR(pg_catalog.=) p.%s",
        shape.only(), part->name, marks.action, marks.row, marks.table);
    check_written(on, on.run(statement, {}, Path::callers), lost, shape);
  }
  if (found > lost) write_references(call, rows, referencing, *part, found - lost);
  note_part(on, *journal, *part, lost, found - lost);
  return true;
}

// Errors where rows reference duplicates again. They would be deleted with them, or keep them.
void check_all_redirected(const MergeCall &call, const GroupRows &rows) {
  for (int i = 0; i < call.references.count; ++i) {
    const ReferencingTable &referencing = call.references.tables[i];
    const char *query = psprintf("SELECT pg_catalog.count(*) FROM (%s) f",
                                 redirected_rows(rows, referencing, OnConflict::error));
    if (call.on.read(query).number_at(0, 0) > 0)
      ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
                      errmsg("%s: rows of %s came to reference duplicates during the merge", call.on.function,
                             referencing.shape.name),
                      errhint("A trigger has written them. Disable it for the merge.")));
  }
}

// Triggers of a referencing table may have changed rows of groups, as one that counts references. They are
// merged, and come back, as they are now, and the next tables reference them by these values. What was
// redirected stays as it was.
void note_changed_rows(const MergeCall &call, const JournalPart &part) {
  const TableShape &table = call.table;
  const JournalColumns &marks = table.journal;
  const char *values = joined(table.column_count, "", [&](int i) -> const char * {
    const char *name = table.columns[i].name;
    for (int t = 0; t < call.references.count; ++t)
      if (call.references.tables[t].self && call.references.tables[t].redirects(i)) return "";
    return psprintf(", %s = %s", name, table.base_value(i, "t"));
  });
  call.on.run(
      psprintf("UPDATE %s AS p SET %s = t.tableoid, %s = t.ctid%s FROM %s t WHERE %s AND (t.ctid "
               "OPERATOR(pg_catalog.<>) p.%s OR t.tableoid OPERATOR(pg_catalog.<>) p.%s)",
               part.name, marks.table, marks.row, values, table.only(), table.same_key("t", "p"), marks.row,
               marks.table));
}

uint64 delete_duplicates(const MergeCall &call, const JournalPart &part) {
  const TableShape &table = call.table;
  const uint64 expected = count_of(call.on, part, table.journal, "deleted");
  const char *statement =
      psprintf("DELETE FROM %s AS t USING %s p WHERE p.%s OPERATOR(pg_catalog.=) 'deleted' AND %s",
               table.only(), part.name, table.journal.action, table.same_key("t", "p"));
  check_written(call.on, call.on.run(statement, {}, Path::callers), expected, table);
  return expected;
}

// Errors where a survivor that no rule changes has gone with the duplicates, by a trigger.
void check_survivors(const MergeCall &call, const JournalPart &part) {
  const TableShape &table = call.table;
  const TextRows there = call.on.read(psprintf(
      "SELECT pg_catalog.count(*) FROM %s p JOIN %s t ON %s WHERE p.%s OPERATOR(pg_catalog.=) 'before'",
      part.name, table.only(), table.same_key("t", "p"), table.journal.action));
  check_written(call.on, static_cast<uint64>(there.number_at(0, 0)),
                count_of(call.on, part, table.journal, "before"), table);
}

// Writes the merged values into the survivors. Triggers may have changed them, so the journal gets them as
// they were written.
uint64 update_survivors(const MergeCall &call, const JournalPart &part) {
  const int rules = call.rules.count;
  const TableShape &table = call.table;
  const JournalColumns &marks = table.journal;
  if (rules == 0) {
    check_survivors(call, part);
    return 0;
  }
  const auto name = [&](int i) { return table.columns[call.rules.rules[i].column].name; };
  const char *changes = joined(rules, ", ", [&](int i) { return psprintf("%s = m.v%d", name(i), i); });
  const auto written = [&](const char *alias) {
    return psprintf("%s, %s", table.key_list(alias),
                    joined(rules, ", ", [&](int i) { return psprintf("%s.%s", alias, name(i)); }));
  };
  const char *columns = psprintf(
      "%s, %s", joined(table.key_count, ", ", [&](int i) { return table.columns[table.key[i]].name; }),
      joined(rules, ", ", name));
  const char *statement = psprintf(
      "WITH merged AS MATERIALIZED (%s), written AS (UPDATE %s AS t SET %s FROM merged m, %s b WHERE b.%s "
      "OPERATOR(pg_catalog.=) m.entry AND b.%s OPERATOR(pg_catalog.=) 'before' AND %s RETURNING m.entry AS "
      "%s, %s) INSERT INTO %s (%s, %s, %s) SELECT w.%s, 'after', %s FROM written w",
      merged_values(call.rules, table, part.name), table.only(), changes, part.name, marks.entry,
      marks.action, table.same_key("t", "b"), marks.entry, written("t"), part.name, marks.entry, marks.action,
      columns, marks.entry, written("w"));
  const uint64 expected = count_of(call.on, part, marks, "before");
  check_written(call.on, call.on.run(statement, {}, Path::callers), expected, table);
  return expected;
}

// Returns what the journal says of its parts.
void return_counts(const Statements &on, const Journal &journal, ResultRows *result) {
  const TextRows rows =
      on.read(psprintf("SELECT CAST(relation AS oid), deleted, updated FROM %s ORDER BY merged DESC, "
                       "CAST(relation AS text), part",
                       journal.name));
  for (int i = 0; i < rows.rows; ++i)
    result->add({ObjectIdGetDatum(rows.oid_at(i, 0)), Int64GetDatum(rows.number_at(i, 1)),
                 Int64GetDatum(rows.number_at(i, 2)), ObjectIdGetDatum(journal.oid)});
}

// Leaves no journal behind, and says that nothing was written.
void return_nothing_done(const MergeCall &call, const Journal &journal, ResultRows *result) {
  for (int i = 0; i < journal.part_count; ++i) call.on.run(psprintf("DROP TABLE %s", journal.parts[i].name));
  call.on.run(psprintf("DROP TABLE %s", journal.name));
  Datum values[] = {ObjectIdGetDatum(call.table.oid), Int64GetDatum(0), Int64GetDatum(0), 0};
  bool nulls[] = {false, false, false, true};
  result->add(values, nulls);
}

// Errors unless all tables still have the names that statements had.
void check_names(const MergeCall &call, const Journal &journal) {
  check_name(call.on, call.table.oid, call.table.name);
  for (int i = 0; i < call.references.count; ++i)
    check_name(call.on, call.references.tables[i].shape.oid, call.references.tables[i].shape.name);
  check_name(call.on, journal.oid, journal.name);
  for (int i = 0; i < journal.part_count; ++i)
    check_name(call.on, journal.parts[i].oid, journal.parts[i].name);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_merge_duplicates);
Datum simjoin_merge_duplicates(PG_FUNCTION_ARGS) {
  const Statements on = {"merge_duplicates", false};
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(on.function, {"newest_by", "journal", "id"});
  const MergeCall call = read_call(on, arguments, arguments.oid("table"));
  Journal journal =
      create_journal(on, arguments.optional_string("journal"), call.table, call.references.count + 1);
  const JournalPart *part = journal_groups(call, &journal);
  if (part == nullptr) {
    return_nothing_done(call, journal, &result);
    return 0;
  }
  const GroupRows rows = {&call.table, part->name};
  for (int i = 0; i < call.references.count; ++i)
    if (redirect(call, rows, call.references.tables[i], &journal)) note_changed_rows(call, *part);
  check_all_redirected(call, rows);
  const uint64 deleted = delete_duplicates(call, *part);
  const uint64 updated = update_survivors(call, *part);
  note_part(on, journal, *part, deleted, updated);
  check_names(call, journal);
  return_counts(on, journal, &result);
  return 0;
}
}

}  // namespace simjoin::pg
