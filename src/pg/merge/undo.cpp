// undo_merge: the rows of a journal become what they were.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
}

#include <algorithm>

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
  if (undone.part->key_count != now.key_count)
    raise_shape(on, "its key has no unique index, or may be NULL", now.name);
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

Undone open_part(const Statements &on, const JournalPart &part, const TrustedTables &trusted) {
  check_plain_table(on, part.relation);
  check_owners(on, part.relation, trusted);
  const TableShape own = describe_table(on, part.oid);
  Undone undone = {&part, own, describe_table(on, part.relation, {part.key_count, part.key}), {}};
  if (part.key_count == 0) undone.shape.key_count = 0;
  undone.marks = {own.columns[0].name, own.columns[1].name, own.columns[2].name, own.columns[3].name,
                  nullptr};
  check_shape(on, undone);
  check_no_update_actions(on, undone.shape, part.column_count, part.columns, trusted);
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
void raise_changed(const Statements &on, const Undone &undone, const char *row, const char *entry) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("%s: the row %s of %s has changed since the merge, or is gone", on.function, row,
                  undone.shape.name),
           errhint("Give it back the values that it has in %s, or leave it as it is: DELETE FROM %s WHERE %s "
                   "= %s AND %s <> 'deleted'.",
                   undone.part->name, undone.part->name, undone.marks.entry, entry, undone.marks.action)));
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

// Returns the start of a query that counts rows by their values as a text, image.
const char *images(const char *values) {
  return psprintf("SELECT CAST(ROW(%s) AS pg_catalog.text) AS image, pg_catalog.count(*) AS rows", values);
}

[[noreturn]] void raise_not_restored(const Statements &on, const Undone &undone, const char *row) {
  ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
                  errmsg("%s: the row %s of %s did not get its old values back", on.function, row,
                         undone.shape.name),
                  errhint("A trigger has changed it. Disable it for the call.")));
  pg_unreachable();
}

// Rows b of the part, as they were, with a, as the merge wrote them.
const char *changed_pairs(const Undone &undone) {
  const JournalColumns &marks = undone.marks;
  return psprintf(
      "%s b JOIN %s a ON a.%s OPERATOR(pg_catalog.=) b.%s AND a.%s OPERATOR(pg_catalog.=) 'after' AND b.%s "
      "OPERATOR(pg_catalog.=) 'before'",
      undone.part->name, undone.part->name, marks.entry, marks.entry, marks.action, marks.action);
}

// Errors where a row has not the values from before the merge, since a trigger changed them again. Without a
// key, as many rows as were changed must have them.
void check_restored(const Statements &on, const Undone &undone) {
  const char *before = changed_pairs(undone), *old_values = changed(undone, ", ", "b.%s");
  const char *query =
      undone.part->key_count > 0
          ? psprintf(
                "SELECT pg_catalog.min(%s) FROM %s LEFT JOIN %s t ON %s WHERE "
                "pg_catalog.num_nulls(t.tableoid) OPERATOR(pg_catalog.>) 0 OR "
                "pg_catalog.record_image_ne(ROW(%s), ROW(%s))",
                undone.shape.shown_key("b"), before, undone.shape.only(), undone.shape.same_key("b", "t"),
                current_values(undone, "t"), old_values)
          : psprintf(
                "SELECT pg_catalog.min(o.image) FROM (%s FROM %s GROUP BY 1) o LEFT JOIN (%s FROM %s t "
                "GROUP BY 1) n ON n.image OPERATOR(pg_catalog.=) o.image WHERE COALESCE(n.rows, 0) "
                "OPERATOR(pg_catalog.<) o.rows",
                images(old_values), before, images(current_values(undone, "t")), undone.shape.only());
  const TextRows other = on.read(query);
  if (other.at(0, 0) != nullptr) raise_not_restored(on, undone, other.at(0, 0));
}

// Errors where references lead to the survivor again: a trigger of a table that was restored later wrote
// them.
void check_references_stay(const Statements &on, const Undone &undone) {
  if (undone.part->merged || undone.part->key_count == 0 || undone.part->column_count == 0) return;
  const char *after = changed(undone, ", ", "a.%s");
  const TextRows other = on.read(psprintf(
      "SELECT pg_catalog.min(%s) FROM %s JOIN %s t ON %s WHERE pg_catalog.record_image_eq(ROW(%s), ROW(%s)) "
      "AND pg_catalog.record_image_ne(ROW(%s), ROW(%s))",
      undone.shape.shown_key("b"), changed_pairs(undone), undone.shape.only(),
      undone.shape.same_key("b", "t"), current_values(undone, "t"), after, after,
      changed(undone, ", ", "b.%s")));
  if (other.at(0, 0) != nullptr) raise_not_restored(on, undone, other.at(0, 0));
}

// Gives the rows that the merge has changed their old values back. Returns how many.
uint64 restore_changed(const Statements &on, const Undone &undone) {
  const char *rows = written_rows(undone);
  const TextRows missing = on.read(psprintf(
      "SELECT w.shown, w.entry FROM (%s) w WHERE w.merge_row IS NULL ORDER BY w.entry LIMIT 1", rows));
  if (missing.rows > 0) raise_changed(on, undone, missing.at(0, 0), missing.at(0, 1));
  if (undone.part->column_count == 0) return 0;
  const JournalColumns &marks = undone.marks;
  const TextRows both = on.read(psprintf("SELECT pg_catalog.count(*) FROM %s", changed_pairs(undone)));
  const char *statement = psprintf(
      "UPDATE %s AS t SET %s FROM (%s) w JOIN %s b ON b.%s OPERATOR(pg_catalog.=) w.entry AND b.%s "
      "OPERATOR(pg_catalog.=) 'before' WHERE "
      "t.ctid OPERATOR(pg_catalog.=) w.merge_row AND t.tableoid OPERATOR(pg_catalog.=) w.merge_table",
      undone.shape.only(), changed(undone, ", ", "%s = b.%s"), rows, undone.part->name, marks.entry,
      marks.action);
  const uint64 written = on.run(statement, {}, Path::callers);
  check_written(on, written, static_cast<uint64>(both.number_at(0, 0)), undone.shape);
  check_restored(on, undone);
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
// those rows again before rows return that they were in conflict with. Triggers of the references may then
// write to the survivors.
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
  const Journal journal = read_journal(on, arguments.oid("journal"), true);
  // The caller has named the journal, and no table.
  const TrustedTables trusted = {PointerGetDatum(arguments.array("trusted")), InvalidOid,
                                 psprintf("SELECT CAST(relation AS oid) FROM ONLY %s", journal.name)};
  lock_tables(on, journal);
  // Rows without a key are found by their texts, which must tell floats apart.
  const int level = NewGUCNestLevel();
  set_until_end("extra_float_digits", "1");
  const auto parts = static_cast<Undone *>(palloc0(sizeof(Undone) * (journal.part_count + 1)));
  for (int i = 0; i < journal.part_count; ++i) parts[i] = open_part(on, journal.parts[i], trusted);
  // The survivors and the rows that return come first, then references, those last that the merge redirected
  // first.
  undo_part(on, parts[0], &result);
  for (int i = journal.part_count - 1; i > 0; --i) undo_part(on, parts[i], &result);
  for (int i = 0; i < journal.part_count; ++i) {
    check_returned(on, parts[i]);
    check_references_stay(on, parts[i]);
    check_name(on, parts[i].shape.oid, parts[i].shape.name);
    check_name(on, journal.parts[i].oid, journal.parts[i].name);
  }
  check_name(on, journal.oid, journal.name);
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
