#include "pg/merge/merge_call.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/jsonb.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/compat_tables.hpp"
#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

OnConflict on_conflict_by_name(const char *name, const char *function) {
  static constexpr std::string_view names[] = {"error", "delete"};
  return static_cast<OnConflict>(number_of_name(
      name, names, function, "way with conflicts",
      "With on_conflict => 'error' a conflict in a unique index is an error. With 'delete' the row goes that "
      "was redirected."));
}

// Errors where columns that a merge writes to have foreign keys to them that act ON UPDATE.
void check_written_columns(const MergeCall &call, const TrustedTables &trusted) {
  const auto names = [](const TableShape &shape) {
    return static_cast<const char **>(palloc(sizeof(char *) * (shape.column_count + 1)));
  };
  const char **ruled = names(call.table);
  for (int i = 0; i < call.rules.count; ++i)
    ruled[i] = call.table.columns[call.rules.rules[i].column].plain_name;
  check_no_update_actions(call.on, call.table, call.rules.count, ruled, trusted);
  for (int t = 0; t < call.references.count; ++t) {
    const ReferencingTable &referencing = call.references.tables[t];
    const char **redirected = names(referencing.shape);
    int count = 0;
    for (int i = 0; i < referencing.shape.column_count; ++i)
      if (referencing.redirects(i)) redirected[count++] = referencing.shape.columns[i].plain_name;
    check_no_update_actions(call.on, referencing.shape, count, redirected, trusted);
  }
}

// A foreign key, to the table or a partition, that acts on an UPDATE of the columns: directly, through a
// generated column, or since rows move to another partition. A trigger may also write to other columns. Then
// a cascade to a table that is trusted, and from there to no other one, can be undone. `changing` has the
// tables with such a trigger.
constexpr const char *update_actions_query = R"(
WITH changing AS (SELECT t.tgrelid AS relation FROM pg_catalog.pg_trigger t
                  WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND (t.tgtype::pg_catalog.int4 & 19) = 19)
SELECT c.conrelid, c.conname FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid
WHERE c.contype = 'f' AND (c.confrelid = %u OR c.confrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(%u)))
      AND (c.confupdtype IN ('c', 'n', 'd')
           AND EXISTS (SELECT FROM pg_catalog.pg_attribute a
                       WHERE a.attrelid = c.confrelid AND a.attnum = ANY (c.confkey)
                             AND (a.attgenerated <> '' OR a.attname = ANY (%s)))
           OR c.confrelid IN (SELECT relation FROM changing)
              AND (c.confupdtype IN ('n', 'd')
                   OR c.confupdtype = 'c'
                      AND (%s OR EXISTS (SELECT FROM pg_catalog.pg_constraint n
                                         WHERE n.contype = 'f' AND n.confupdtype IN ('c', 'n', 'd')
                                               AND (n.confrelid = c.conrelid
                                                    OR n.confrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(c.conrelid)))
                                               AND (n.confkey && c.conkey
                                                    OR EXISTS (SELECT FROM pg_catalog.pg_attribute a
                                                               WHERE a.attrelid = n.confrelid AND a.attnum = ANY (n.confkey)
                                                                     AND a.attgenerated <> '')
                                                    OR n.confupdtype IN ('n', 'd')
                                                       AND n.confrelid IN (SELECT relation FROM changing)))))
           OR %s AND c.confdeltype IN ('c', 'n', 'd')
           AND EXISTS (SELECT FROM pg_catalog.pg_partitioned_table p
                       WHERE (p.partrelid = %u OR p.partrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(%u)))
                             AND (0 = ANY (p.partattrs)
                                  OR EXISTS (SELECT FROM pg_catalog.pg_attribute a
                                             WHERE a.attrelid = p.partrelid AND a.attnum = ANY (p.partattrs)
                                                   AND a.attname = ANY (%s)))))
ORDER BY c.oid LIMIT 1)";

// Errors where rows of the table cannot be deleted so that they could come back: others would go or change
// with them.
void check_no_cascade(const Statements &on, const ReferencingTable &referencing) {
  const TextRows rows = on.read_catalog(psprintf(
      "SELECT conrelid, conname FROM pg_catalog.pg_constraint WHERE contype = 'f' AND (confrelid = %u OR "
      "confrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(%u))) AND confdeltype IN ('c', 'n', 'd') "
      "ORDER BY oid LIMIT 1",
      referencing.shape.oid, referencing.shape.oid));
  if (rows.rows == 0) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("%s: rows of %s cannot be deleted, since rows of %s would go or change with them",
                  on.function, referencing.shape.name, relation_name(rows.oid_at(0, 0))),
           errdetail("The foreign key \"%s\" acts ON DELETE, which could not be undone.", rows.at(0, 1)),
           errhint("Resolve the conflicts of %s before, and leave out on_conflict => 'delete'.",
                   referencing.shape.name)));
}

// Errors where a row that stays would get another key: neither the groups nor the journal would name it.
void check_keys(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                const char *with, const Parameters &parameters) {
  const char *query = rekeyed_rows(rows, referencing);
  if (query == nullptr) return;
  const TextRows found = call.on.read(psprintf("%s%s", with, query), parameters);
  if (found.at(0, 0) == nullptr) return;
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("%s: the row %s of %s would get another key, since its reference is part of the key",
                         call.on.function, found.at(0, 0), referencing.shape.name),
                  errhint("Redirect such rows by a statement of your own before the merge.")));
}

void check_directions(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                      const char *with, const Parameters &parameters) {
  const char *query = misdirected_rows(rows, referencing);
  if (query == nullptr) return;
  const char *hint = "Redirect such rows by a statement of your own before the merge.";
  TextRows found;
  with_hint(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, hint,
            [&] { found = call.on.read(psprintf("%s%s", with, query), parameters); });
  if (found.at(0, 0) == nullptr) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("%s: a redirected row of %s would reference another row by the foreign key \"%s\"",
                  call.on.function, referencing.shape.name, found.at(0, 0)),
           errdetail("The key shares a column with another one, or its column does not take the value of the "
                     "survivor as it is."),
           errhint("%s", hint)));
}

}  // namespace

MergeCall read_call(const Statements &on, const NamedArguments &arguments, Oid table) {
  MergeCall call = {};
  call.on = on;
  if (arguments.has("on_conflict"))
    call.on_conflict = on_conflict_by_name(arguments.string("on_conflict"), on.function);
  const TrustedTables trusted = {PointerGetDatum(arguments.array("trusted")), table,
                                 psprintf("SELECT CAST(%u AS oid) UNION SELECT conrelid FROM "
                                          "pg_catalog.pg_constraint WHERE contype = 'f' AND confrelid = %u",
                                          table, table)};
  const bool writes = !on.read_only;
  check_merged_table(on, table, trusted, writes);
  const char *id = arguments.optional_string("id");
  call.table = describe_table(on, table, {id == nullptr ? 0 : 1, &id});
  if (id != nullptr && call.table.find(id) < 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("%s: the table %s has no column \"%s\"", on.function, call.table.name, id),
                    errhint("Name a column of the table as id, or leave it out for the primary key.")));
  check_width(on, call.table);
  call.references =
      find_references(on, call.table, trusted, writes, call.on_conflict == OnConflict::remove || !writes);
  call.rules = read_rules(on, JsonbPGetDatum(arguments.jsonb("rules")),
                          arguments.optional_string("newest_by"), call.table, call.references);
  check_written_columns(call, trusted);
  call.groups = read_groups(on, arguments.string("groups"), call.table);
  return call;
}

void check_targets(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                   const char *with, const Parameters &parameters) {
  bool may_be_null = false;
  for (int k = 0; k < referencing.key_count; ++k)
    for (int i = 0; i < referencing.keys[k].column_count; ++i)
      may_be_null |= call.table.columns[referencing.keys[k].to[i]].may_be_null;
  const char *query = psprintf("%s%s", with, rows_without_target(rows, referencing));
  if (may_be_null && call.on.read(query, parameters).number_at(0, 0) > 0)
    ereport(ERROR,
            (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
             errmsg("%s: a row of %s would lose its reference", call.on.function, referencing.shape.name),
             errdetail("It references columns that are NULL in the row that survives."),
             errhint("Let rows survive that have values in all columns that foreign keys reference.")));
  check_keys(call, rows, referencing, with, parameters);
  check_directions(call, rows, referencing, with, parameters);
}

void check_losses(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                  const char *with, const Parameters &parameters) {
  check_no_cascade(call.on, referencing);
  const char *query = rows_lost_to_lost_rows(rows, referencing);
  if (query == nullptr || call.on.read(psprintf("%s%s", with, query), parameters).number_at(0, 0) == 0)
    return;
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("%s: a row of %s would go in favour of a row that goes, too", call.on.function,
                         referencing.shape.name),
                  errdetail("It repeats no row that stays in any of the unique indexes."),
                  errhint("Resolve the conflicts of %s before, and leave out on_conflict => 'delete'.",
                          referencing.shape.name)));
}

void check_no_update_actions(const Statements &on, const TableShape &shape, int count,
                             const char *const *columns, const TrustedTables &trusted) {
  if (count == 0) return;
  const char *names = text_array(count, columns);
  const TextRows rows = on.read_catalog(
      psprintf(update_actions_query, shape.oid, shape.oid, names, trusted.distrusts("r"),
               compat::moves_fire_delete_actions ? "true" : "false", shape.oid, shape.oid, names));
  if (rows.rows == 0) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("%s: rows of %s cannot be updated, since rows of %s would change with them", on.function,
                  shape.name, relation_name(rows.oid_at(0, 0))),
           errdetail("The foreign key \"%s\" acts on the UPDATE, which could not be undone.", rows.at(0, 1)),
           errhint("Let the key act ON UPDATE NO ACTION meanwhile, or disable a trigger that writes to its "
                   "column.")));
}

}  // namespace simjoin::pg
