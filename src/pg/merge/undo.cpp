// undo_merge: the rows of a journal become what they were.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cstring>

#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/merge/journal.hpp"
#include "pg/merge/merge_call.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// A part of the journal and its table, as it is now.
struct Undone {
  const JournalPart *part;
  TableShape own;  // the part's
  TableShape shape;
  JournalColumns marks;  // the part's own
};

[[noreturn]] void raise_shape(const Statements &on, const char *what, const char *table) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("%s: %s is not as it was at the merge: %s", on.function, table, what),
                  errhint("Give the table back what it had, undo the merge, and change the table again.")));
  pg_unreachable();
}

// Errors unless the table has the columns of the part, with their types, and its key.
void check_shape(const Statements &on, const Undone &undone) {
  const TableShape &part = undone.own, &now = undone.shape;
  for (int i = 4; i < part.column_count; ++i) {
    const int column = now.find(part.columns[i].plain_name);
    if (column < 0) raise_shape(on, psprintf("the column %s is missing", part.columns[i].name), now.name);
    if (now.columns[column].base_type != part.columns[i].base_type ||
        now.columns[column].base_modifier != part.columns[i].base_modifier)
      raise_shape(on, psprintf("the column %s has another type", part.columns[i].name), now.name);
  }
  for (int i = 0; i < undone.part->column_count; ++i)
    if (part.find(undone.part->columns[i]) < 4 || now.find(undone.part->columns[i]) < 0)
      raise_shape(on, psprintf("the column %s is missing", quote_identifier(undone.part->columns[i])),
                  now.name);
  if (undone.part->key_count == 0) return;
  bool same = undone.part->key_count == now.key_count;
  for (int i = 0; same && i < now.key_count; ++i)
    same = std::strcmp(now.columns[now.key[i]].plain_name, undone.part->key[i]) == 0;
  if (!same) raise_shape(on, "it has another key", now.name);
}

void check_there(const Statements &on, const JournalPart &part) {
  if (get_rel_name(part.relation) == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("%s: a table of the merge has been dropped", on.function),
                    errdetail("The rows that it had are in %s.", part.name),
                    errhint("Without it the merge cannot be undone.")));
  check_is_table(on, part.relation);
}

// Locks the tables of the parts against writers, in the order in which a merge does.
void lock_tables(const Statements &on, const Journal &journal) {
  const auto tables = static_cast<Oid *>(palloc(sizeof(Oid) * journal.part_count));
  for (int i = 0; i < journal.part_count; ++i) {
    check_there(on, journal.parts[i]);
    tables[i] = journal.parts[i].relation;
  }
  std::sort(tables + 1, tables + journal.part_count);
  for (int i = 0; i < journal.part_count; ++i) lock_against_writers(on, tables[i]);
}

Undone open_part(const Statements &on, const JournalPart &part, Oid merged, const TrustedTables &trusted) {
  check_plain_table(on, part.relation);
  check_owners(on, part.relation, merged, trusted);
  // A merge by a column that was named has a key of that column.
  const char *id = part.merged && part.key_count == 1 ? part.key[0] : nullptr;
  const TableShape own = describe_table(on, part.oid);
  Undone undone = {&part, own, describe_table(on, part.relation, id), {}};
  if (part.key_count == 0) undone.shape.key_count = 0;
  undone.marks = {own.columns[0].name, own.columns[1].name, own.columns[2].name, own.columns[3].name,
                  nullptr};
  check_shape(on, undone);
  check_no_update_actions(on, undone.shape, part.column_count, part.columns);
  // A merge writes most rows of a part after it has looked at it, and a dump has no statistics.
  on.run(psprintf("ANALYZE %s", part.name));
  return undone;
}

const char *changed(const Undone &undone, const char *separator, const char *format) {
  return joined(undone.part->column_count, separator, [&](int i) {
    const char *name = quote_identifier(undone.part->columns[i]);
    return psprintf(format, name, name);
  });
}

// Returns the columns that the merge changed, of the types that they have in the part.
const char *current_values(const Undone &undone, const char *alias) {
  return joined(undone.part->column_count, ", ", [&](int i) {
    return undone.shape.base_value(undone.shape.find(undone.part->columns[i]), alias);
  });
}

// Errors with the first row that the merge has written and that is not as it was written.
void raise_changed(const Statements &on, const Undone &undone, const char *row) {
  ereport(
      ERROR,
      (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
       errmsg("%s: the row %s of %s has changed since the merge, or is gone", on.function, row,
              undone.shape.name),
       errhint(
           "Give it back the values that it has in %s, or delete the entry there to leave the row as it is.",
           undone.part->name)));
}

// "CAST(ROW(a.c1, a.c2) AS text)" of the columns that a row without a key is found by.
const char *image(const TableShape &part_columns, const char *alias) {
  return psprintf("CAST(ROW(%s) AS pg_catalog.text)", joined(part_columns.column_count - 4, ", ", [&](int i) {
                    return psprintf("%s.%s", alias, part_columns.columns[i + 4].name);
                  }));
}

// Returns a query with the rows that the merge has written: entry, and the place of the row, which is NULL if
// there is none any more. Of rows without a key, equal ones are interchangeable.
const char *written_rows(const Undone &undone) {
  const JournalColumns &marks = undone.marks;
  const char *part = undone.part->name;
  if (undone.part->key_count > 0) {
    // Survivors that no rule changed have no other row in the journal than the one before.
    const char *action = undone.part->merged && undone.part->column_count == 0 ? "before" : "after";
    const char *same = undone.part->column_count == 0
                           ? "true"
                           : psprintf("pg_catalog.record_image_eq(ROW(%s), ROW(%s))",
                                      current_values(undone, "t"), changed(undone, ", ", "a.%s"));
    return psprintf(
        "SELECT a.%s AS entry, t.tableoid AS merge_table, t.ctid AS merge_row, %s AS shown FROM %s a LEFT "
        "JOIN %s t ON %s "
        "AND %s WHERE a.%s OPERATOR(pg_catalog.=) '%s'",
        marks.entry, undone.shape.shown_key("a"), part, undone.shape.only(), undone.shape.same_key("a", "t"),
        same, marks.action, action);
  }
  const TableShape &own = undone.own;
  return psprintf(
      "SELECT a.entry, t.merge_table, t.merge_row, a.image AS shown FROM (SELECT a.*, "
      "pg_catalog.row_number() OVER (PARTITION BY a.image "
      "ORDER BY a.entry) AS number FROM (SELECT a.%s AS entry, %s AS image FROM %s a WHERE a.%s "
      "OPERATOR(pg_catalog.=) 'after') a) a "
      "LEFT JOIN (SELECT t.*, pg_catalog.row_number() OVER (PARTITION BY t.image ORDER BY t.merge_table, "
      "t.merge_row) AS number FROM "
      "(SELECT t.tableoid AS merge_table, t.ctid AS merge_row, %s AS image FROM %s t) t) t ON t.image "
      "OPERATOR(pg_catalog.=) a.image AND "
      "t.number OPERATOR(pg_catalog.=) a.number",
      marks.entry, image(own, "a"), part, marks.action, image(own, "t"), undone.shape.only());
}

// Gives the rows that the merge has changed their old values back. Returns how many.
uint64 restore_changed(const Statements &on, const Undone &undone) {
  const char *rows = written_rows(undone);
  const TextRows missing = on.read(
      psprintf("SELECT w.shown FROM (%s) w WHERE w.merge_row IS NULL ORDER BY w.entry LIMIT 1", rows));
  if (missing.rows > 0) raise_changed(on, undone, missing.at(0, 0));
  if (undone.part->column_count == 0) return 0;
  const JournalColumns &marks = undone.marks;
  const TextRows both = on.read(psprintf(
      "SELECT pg_catalog.count(*) FROM %s a JOIN %s b ON b.%s OPERATOR(pg_catalog.=) a.%s WHERE a.%s "
      "OPERATOR(pg_catalog.=) 'after' AND b.%s OPERATOR(pg_catalog.=) 'before'",
      undone.part->name, undone.part->name, marks.entry, marks.entry, marks.action, marks.action));
  const char *statement = psprintf(
      "UPDATE %s AS t SET %s FROM (%s) w JOIN %s b ON b.%s OPERATOR(pg_catalog.=) w.entry AND b.%s "
      "OPERATOR(pg_catalog.=) 'before' WHERE "
      "t.ctid OPERATOR(pg_catalog.=) w.merge_row AND t.tableoid OPERATOR(pg_catalog.=) w.merge_table",
      undone.shape.only(), changed(undone, ", ", "%s = b.%s"), rows, undone.part->name, marks.entry,
      marks.action);
  const uint64 written = on.run(statement, {}, Path::callers);
  check_written(on, written, static_cast<uint64>(both.number_at(0, 0)), undone.shape);
  return written;
}

// Errors where a row has returned with another key, which a trigger gave it.
void check_returned(const Statements &on, const Undone &undone) {
  if (undone.part->key_count == 0) return;
  const TextRows missing =
      on.read(psprintf("SELECT pg_catalog.min(%s) FROM %s d WHERE d.%s OPERATOR(pg_catalog.=) 'deleted' AND "
                       "NOT EXISTS (SELECT FROM "
                       "%s t WHERE %s)",
                       undone.shape.shown_key("d"), undone.part->name, undone.marks.action,
                       undone.shape.only(), undone.shape.same_key("d", "t")));
  if (missing.at(0, 0) == nullptr) return;
  ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
                  errmsg("%s: the row %s of %s came back with another key", on.function, missing.at(0, 0),
                         undone.shape.name),
                  errhint("A trigger has changed it. Disable it for the call.")));
}

// Puts the rows that the merge has deleted back. Returns how many.
uint64 restore_deleted(const Statements &on, const Undone &undone) {
  const char *deleted =
      psprintf("%s d WHERE d.%s OPERATOR(pg_catalog.=) 'deleted'", undone.part->name, undone.marks.action);
  // To update rows, no right to insert any is needed.
  const uint64 expected = count_of(on, *undone.part, undone.marks, "deleted");
  if (expected == 0) return 0;
  const TableShape &own = undone.own;
  StringInfoData columns, values;
  initStringInfo(&columns);
  initStringInfo(&values);
  for (int i = 4; i < own.column_count; ++i) {
    const TableColumn &column = own.columns[i];
    if (undone.shape.columns[undone.shape.find(column.plain_name)].generated) continue;
    appendStringInfo(&columns, "%s%s", columns.len == 0 ? "" : ", ", column.name);
    appendStringInfo(&values, "%sd.%s", values.len == 0 ? "" : ", ", column.name);
  }
  const char *statement = psprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s",
                                   undone.shape.name, columns.data, values.data, deleted);
  check_written(on, on.run(statement, {}, Path::callers), expected, undone.shape);
  check_returned(on, undone);
  return expected;
}

// Undoes a part. Survivors get their values back before rows return that had them, too. References lead to
// those rows again before rows return that they were in conflict with.
void undo_part(const Statements &on, const Undone &undone, ResultRows *result) {
  uint64 restored = 0, updated = 0;
  with_hint(ERRCODE_UNIQUE_VIOLATION,
            "A row with this key has come since the merge. Change it, and undo the merge then.", [&] {
              updated = restore_changed(on, undone);
              restored = restore_deleted(on, undone);
            });
  result->add({ObjectIdGetDatum(undone.part->relation), Int64GetDatum(static_cast<int64>(restored)),
               Int64GetDatum(static_cast<int64>(updated))});
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_undo_merge);
Datum simjoin_undo_merge(PG_FUNCTION_ARGS) {
  const Statements on = {"undo_merge", false};
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(on.function, {});
  const TrustedTables trusted = {PointerGetDatum(arguments.array("trusted"))};
  const Journal journal = read_journal(on, arguments.oid("journal"), true);
  lock_tables(on, journal);
  // Rows without a key are found by their texts, which must tell floats apart.
  const int level = NewGUCNestLevel();
  set_until_end("extra_float_digits", "1");
  const auto parts = static_cast<Undone *>(palloc0(sizeof(Undone) * (journal.part_count + 1)));
  for (int i = 0; i < journal.part_count; ++i)
    parts[i] = open_part(on, journal.parts[i], journal.parts[0].relation, trusted);
  // The survivors and the rows that return come first, then references, those last that the merge redirected
  // first.
  undo_part(on, parts[0], &result);
  for (int i = journal.part_count - 1; i > 0; --i) undo_part(on, parts[i], &result);
  AtEOXact_GUC(true, level);
  on.run(psprintf("UPDATE ONLY %s SET undone_at = pg_catalog.statement_timestamp()", journal.name));
  return 0;
}

PG_FUNCTION_INFO_V1(simjoin_drop_merge_journal);
Datum simjoin_drop_merge_journal(PG_FUNCTION_ARGS) {
  const Statements on = {"drop_merge_journal", false};
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(on.function, {});
  const Journal journal = read_journal(on, arguments.oid("journal"), false);
  for (int i = 0; i < journal.part_count; ++i) on.run(psprintf("DROP TABLE %s", journal.parts[i].name));
  on.run(psprintf("DROP TABLE %s", journal.name));
  PG_RETURN_VOID();
}
}

}  // namespace simjoin::pg
