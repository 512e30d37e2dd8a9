#include "pg/merge/redirect.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include <algorithm>

namespace simjoin::pg {
namespace {

// Returns a relation for the rows that a foreign key can lead to: f0, f1 ..., the referenced columns, t0, t1
// ..., those of the survivor, and goes. With `survivors` it has those rows, too.
const char *targets(const GroupRows &groups, const ForeignKey &key, bool survivors) {
  const TableShape &table = *groups.table;
  const JournalColumns &marks = table.journal;
  const auto columns = [&](const char *row, const char *name) {
    return joined(key.column_count, ", ", [&](int i) {
      return psprintf("%s.%s AS %s%d", row, table.columns[key.to[i]].name, name, i);
    });
  };
  return psprintf(
      "(SELECT %s, %s, g.%s OPERATOR(pg_catalog.=) 'deleted' AS goes FROM %s g JOIN %s s ON g.%s "
      "OPERATOR(pg_catalog.=) s.%s WHERE s.%s OPERATOR(pg_catalog.=) 'before' AND g.%s "
      "OPERATOR(pg_catalog.%s) "
      "'%s')",
      columns("g", "f"), columns("s", "t"), marks.action, groups.name, groups.name, marks.entry, marks.entry,
      marks.action, marks.action, survivors ? "<>" : "=", survivors ? "after" : "deleted");
}

const char *as_type(const char *value, const char *type) {
  return psprintf("CAST(%s AS %s)", value, type);
}

// Returns the condition that values of a row of the referencing table, value(column), are those of the target
// number `k`, `place` f or t, as PostgreSQL tells by the foreign key: in the collation of the referenced
// column.
template <class Value>
const char *leads_to(const GroupRows &groups, const ReferencingTable &referencing, int k, const char *place,
                     Value &&value) {
  const ForeignKey &key = referencing.keys[k];
  return joined(key.column_count, " AND ", [&](int i) {
    return psprintf("%s %s %s%s", as_type(psprintf("m%d.%s%d", k, place, i), key.left_types[i]),
                    key.operators[i], as_type(value(key.from[i]), key.right_types[i]),
                    groups.table->columns[key.to[i]].collate);
  });
}

const char *joined_by(const char *kind, const GroupRows &groups, const ReferencingTable &referencing,
                      const char *row, bool survivors) {
  return joined(referencing.key_count, " ", [&](int k) {
    return psprintf("%s %s m%d ON %s", kind, targets(groups, referencing.keys[k], survivors), k,
                    leads_to(groups, referencing, k, "f", [&](int column) {
                      return psprintf("%s.%s", row, referencing.shape.columns[column].name);
                    }));
  });
}

// Returns "JOIN targets m0 ON ..." over all foreign keys. Of several, any may lead to a row of a group.
const char *joined_targets(const GroupRows &groups, const ReferencingTable &referencing, const char *row,
                           bool survivors) {
  const char *kind = referencing.key_count == 1 ? "JOIN" : "LEFT JOIN";
  return joined_by(kind, groups, referencing, row, survivors);
}

const char *any_goes(const ReferencingTable &referencing) {
  return joined(referencing.key_count, " OR ", [](int k) { return psprintf("m%d.goes", k); });
}

const char *any_found(const ReferencingTable &referencing) {
  return joined(referencing.key_count, " OR ", [](int k) { return psprintf("m%d.goes IS NOT NULL", k); });
}

// Returns a condition that leaves out rows of the referenced table that go themselves.
const char *stays(const GroupRows &groups, const ReferencingTable &referencing, const char *row) {
  if (!referencing.self) return "true";
  return psprintf("NOT EXISTS (SELECT FROM %s gone WHERE gone.%s OPERATOR(pg_catalog.=) 'deleted' AND %s)",
                  groups.name, groups.table->journal.action, groups.table->same_key("gone", row));
}

// "x.b1, x.b2, ..., x.n1, ..."
const char *carried(const ReferencingTable &referencing) {
  const int count = referencing.shape.column_count;
  return psprintf("x.merge_table, x.merge_row, %s, x.moved",
                  joined(count, ", ", [](int i) { return psprintf("x.b%d, x.n%d", i + 1, i + 1); }));
}

// "k.k0, k.k1" of the values in an index.
const char *index_names(const UniqueIndex &index) {
  return joined(index.key_count, ", ", [](int i) { return psprintf("k.k%d", i); });
}

const char *can_conflict(const UniqueIndex &index) {
  return index.nulls_equal
             ? "true"
             : psprintf("pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.=) 0", index_names(index));
}

// Returns a join of a row x with its values in the index, k0, k1 and so on, and covered, whether the index
// has it.
const char *index_values(const UniqueIndex &index, const ReferencingTable &referencing) {
  const TableShape &shape = referencing.shape;
  const char *keys =
      joined(index.key_count, ", ", [&](int i) { return psprintf("%s AS k%d", index.keys[i], i); });
  const char *values = joined(shape.column_count, ", ",
                              [&](int i) { return psprintf("x.n%d AS %s", i + 1, shape.columns[i].name); });
  return psprintf("CROSS JOIN LATERAL (SELECT %s, (%s) IS TRUE AS covered FROM (SELECT %s) AS c) AS k", keys,
                  index.predicate == nullptr ? "true" : index.predicate, values);
}

// Returns the rows of the query `rows`, where those are lost that would be equal to another row in the index.
// The first one stays: rows that were not redirected, then by the key.
const char *without_conflicts(const char *rows, const UniqueIndex &index,
                              const ReferencingTable &referencing) {
  const TableShape &shape = referencing.shape;
  const char *order =
      shape.key_count == 0
          ? "x.merge_table, x.merge_row"
          : joined(shape.key_count, ", ", [&](int i) { return psprintf("x.b%d", shape.key[i] + 1); });
  return psprintf(
      "SELECT %s, x.lost OR (x.moved AND k.covered AND %s AND pg_catalog.row_number() OVER (PARTITION BY "
      "x.lost, k.covered, %s ORDER BY x.moved, %s) OPERATOR(pg_catalog.>) 1) AS lost FROM (%s) x %s",
      carried(referencing), can_conflict(index), index_names(index), order, rows,
      index_values(index, referencing));
}

// Returns the rows of the query `rows` with the column explained: whether a row that stays is equal to them
// in the index, or in one before.
const char *explained_by(const char *rows, const UniqueIndex &index, const ReferencingTable &referencing) {
  return psprintf(
      "SELECT %s, x.lost, x.explained OR (k.covered AND %s AND pg_catalog.count(*) FILTER (WHERE NOT x.lost) "
      "OVER (PARTITION BY k.covered, %s) OPERATOR(pg_catalog.>) 0) AS explained FROM (%s) x %s",
      carried(referencing), can_conflict(index), index_names(index), rows, index_values(index, referencing));
}

bool shares_columns(const KeptKey &key, const ForeignKey &other) {
  for (int i = 0; i < key.column_count; ++i)
    for (int j = 0; j < other.column_count; ++j)
      if (key.columns[i] == other.from[j]) return true;
  return false;
}

// Returns whether a redirection can lead rows elsewhere by the key.
bool can_mislead(const GroupRows &groups, const ReferencingTable &referencing, const KeptKey &key) {
  for (int k = 0; k < referencing.key_count; ++k)
    if (k != key.followed && shares_columns(key, referencing.keys[k])) return true;
  if (key.followed < 0) return false;
  const ForeignKey &its = referencing.keys[key.followed];
  for (int i = 0; i < its.column_count; ++i) {
    const TableColumn &from = referencing.shape.columns[its.from[i]], &to = groups.table->columns[its.to[i]];
    if (from.base_type != to.base_type || from.base_modifier != to.base_modifier) return true;
    if (std::find(its.from, its.from + i, its.from[i]) != its.from + i) return true;  // it has one value
  }
  return false;
}

// Returns the condition that a row leads elsewhere by the key, with new values as the column takes them.
// Values of texts are compared by their bytes: the collation of a referenced column that is not ours may tell
// them apart.
const char *misled(const GroupRows &groups, const ReferencingTable &referencing, const KeptKey &key) {
  const TableShape &shape = referencing.shape;
  const auto old_value = [&](int column) {
    return static_cast<const char *>(psprintf("t.%s", shape.columns[column].name));
  };
  const auto new_value = [&](int column) {
    return psprintf("CAST(%s AS %s)", redirected_value(referencing, column, "t"),
                    shape.columns[column].base_name);
  };
  const char *kept = joined(key.column_count, " AND ", [&](int i) {
    const int column = key.columns[i];
    const char *bytes = shape.columns[column].collate[0] == '\0' ? "" : " COLLATE pg_catalog.\"C\"";
    return psprintf("%s%s %s %s%s", as_type(new_value(column), key.types[i]), bytes, key.operators[i],
                    as_type(old_value(column), key.types[i]), bytes);
  });
  if (key.followed >= 0)
    kept = psprintf("CASE WHEN m%d.goes THEN %s ELSE %s END", key.followed,
                    leads_to(groups, referencing, key.followed, "t", new_value), kept);
  return psprintf("(pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.=) 0 AND (%s) IS NOT TRUE)",
                  joined(key.column_count, ", ", [&](int i) { return old_value(key.columns[i]); }), kept);
}

// Returns the rows of the referencing table that lead to rows of groups, or without indexes to resolve only
// to those that go, with the columns of redirected_rows() and moved, whether they are redirected.
const char *resolved_rows(const GroupRows &groups, const ReferencingTable &referencing,
                          OnConflict on_conflict) {
  const TableShape &shape = referencing.shape;
  const bool resolve = on_conflict == OnConflict::remove && referencing.index_count > 0;
  const char *values = joined(shape.column_count, ", ", [&](int i) {
    return psprintf("%s AS b%d, %s AS n%d", shape.base_value(i, "t"), i + 1,
                    redirected_value(referencing, i, "t"), i + 1);
  });
  const char *rows = psprintf(
      "SELECT t.tableoid AS merge_table, t.ctid AS merge_row, %s, (%s) IS TRUE AS moved, false AS lost FROM "
      "%s t %s WHERE (%s) AND %s",
      values, any_goes(referencing), shape.only(), joined_targets(groups, referencing, "t", resolve),
      any_found(referencing), stays(groups, referencing, "t"));
  for (int i = 0; resolve && i < referencing.index_count; ++i)
    rows = without_conflicts(rows, referencing.indexes[i], referencing);
  return rows;
}

}  // namespace

const char *left_joined_targets(const GroupRows &groups, const ReferencingTable &referencing,
                                const char *row) {
  return joined_by("LEFT JOIN", groups, referencing, row, false);
}

const char *redirected_value(const ReferencingTable &referencing, int column, const char *row) {
  const TableColumn &its = referencing.shape.columns[column];
  const char *old_value = psprintf("%s.%s", row, its.name);
  if (!referencing.redirects(column)) return old_value;
  StringInfoData text;
  initStringInfo(&text);
  appendStringInfoString(&text, "CASE");
  for (int k = 0; k < referencing.key_count; ++k)
    for (int i = 0; i < referencing.keys[k].column_count; ++i)
      if (referencing.keys[k].from[i] == column)
        appendStringInfo(&text, " WHEN m%d.goes THEN CAST(m%d.t%d AS %s)", k, k, i, its.type_name);
  appendStringInfo(&text, " ELSE %s END%s", old_value, its.collate);
  return text.data;
}

const char *redirected_rows(const GroupRows &groups, const ReferencingTable &referencing,
                            OnConflict on_conflict) {
  return psprintf("SELECT * FROM (%s) found WHERE moved", resolved_rows(groups, referencing, on_conflict));
}

const char *rows_lost_to_lost_rows(const GroupRows &groups, const ReferencingTable &referencing) {
  if (referencing.index_count < 2) return nullptr;
  const char *rows = psprintf("SELECT r.*, false AS explained FROM (%s) r",
                              resolved_rows(groups, referencing, OnConflict::remove));
  for (int i = 0; i < referencing.index_count; ++i)
    rows = explained_by(rows, referencing.indexes[i], referencing);
  return psprintf("SELECT pg_catalog.count(*) FROM (%s) e WHERE e.lost AND NOT e.explained", rows);
}

const char *rows_of_groups(const GroupRows &groups, const ReferencingTable &referencing) {
  return psprintf("SELECT FROM %s t %s WHERE %s", referencing.shape.only(),
                  joined_targets(groups, referencing, "t", true), any_found(referencing));
}

const char *rows_without_target(const GroupRows &groups, const ReferencingTable &referencing) {
  const char *missing = joined(referencing.key_count, " OR ", [&](int k) {
    return psprintf(
        "(m%d.goes AND pg_catalog.num_nulls(%s) OPERATOR(pg_catalog.>) 0)", k,
        joined(referencing.keys[k].column_count, ", ", [&](int i) { return psprintf("m%d.t%d", k, i); }));
  });
  return psprintf("SELECT pg_catalog.count(*) FROM %s t %s WHERE (%s) AND %s", referencing.shape.only(),
                  joined_targets(groups, referencing, "t", false), missing, stays(groups, referencing, "t"));
}

const char *rekeyed_rows(const GroupRows &groups, const ReferencingTable &referencing) {
  const TableShape &shape = referencing.shape;
  StringInfoData same;
  initStringInfo(&same);
  const auto add = [&](const TableShape &of, int place) {
    const int column = of.key[place];
    if (!referencing.redirects(column)) return;
    appendStringInfo(&same, "%sCAST(%s AS %s) %s %s", same.len == 0 ? "" : " AND ",
                     redirected_value(referencing, column, "t"), shape.columns[column].compared_name,
                     of.key_operators[place], of.key_value(place, "t"));
  };
  // The rows of groups may be named by another key than the journal of references.
  for (int i = 0; referencing.self && i < shape.key_count; ++i) add(shape, i);
  for (int i = 0; referencing.self && i < groups.table->key_count; ++i) add(*groups.table, i);
  if (same.len == 0) return nullptr;
  return psprintf("SELECT pg_catalog.min(%s) FROM %s t %s WHERE (%s) AND NOT (%s) AND %s",
                  shape.shown_key("t"), shape.only(), joined_targets(groups, referencing, "t", false),
                  any_goes(referencing), same.data, stays(groups, referencing, "t"));
}

const char *misdirected_rows(const GroupRows &groups, const ReferencingTable &referencing) {
  StringInfoData names;
  initStringInfo(&names);
  for (int i = 0; i < referencing.kept_count; ++i)
    if (can_mislead(groups, referencing, referencing.kept[i]))
      appendStringInfo(&names, " WHEN %s THEN %s", misled(groups, referencing, referencing.kept[i]),
                       quote_literal_cstr(referencing.kept[i].name));
  if (names.len == 0) return nullptr;
  return psprintf(
      "SELECT pg_catalog.min(f.name) FROM (SELECT CASE%s END AS name FROM %s t %s WHERE (%s) AND %s) f",
      names.data, referencing.shape.only(), joined_targets(groups, referencing, "t", false),
      any_goes(referencing), stays(groups, referencing, "t"));
}

const char *new_references(const GroupRows &groups, const ReferencingTable &referencing, const char *part) {
  const TableShape &shape = referencing.shape;
  const JournalColumns &marks = shape.journal;
  StringInfoData values;
  initStringInfo(&values);
  for (int i = 0; i < shape.column_count; ++i)
    if (referencing.redirects(i))
      appendStringInfo(&values, ", %s AS c%d", redirected_value(referencing, i, "b"), i + 1);
  return psprintf(
      "SELECT b.%s AS entry, b.%s AS merge_table, b.%s AS merge_row%s FROM %s b %s WHERE b.%s "
      "OPERATOR(pg_catalog.=) 'before'",
      marks.entry, marks.table, marks.row, values.data, part, joined_targets(groups, referencing, "b", false),
      marks.action);
}

}  // namespace simjoin::pg
