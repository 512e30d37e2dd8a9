#include "pg/merge/groups_input.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

#include <string_view>

#include "pg/base/relation_names.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

bool is_text(Oid type) {
  return type == TEXTOID || type == VARCHAROID;
}

// Returns whether ids of one type can be looked up in a key of another type.
bool can_be_key(Oid id, Oid key) {
  id = getBaseType(id);
  key = getBaseType(key);
  return id == key || (is_id_type(id) && is_id_type(key)) || (is_text(id) && is_text(key));
}

// Errors unless ids of the type fit the key: a value for a key of one column, or a row of a value for each.
void check_id_type(const Statements &on, Oid type, const TableShape &table) {
  bool fits = false;
  if (table.key_count == 1) {
    // An array of arrays loses its elements' dimensions, and one of rows becomes their columns.
    fits = can_be_key(type, table.columns[table.key[0]].type) &&
           !OidIsValid(get_element_type(getBaseType(type))) &&
           get_typtype(getBaseType(type)) != TYPTYPE_COMPOSITE;
  } else if (get_typtype(getBaseType(type)) == TYPTYPE_COMPOSITE) {
    TupleDesc parts = lookup_rowtype_tupdesc_copy(getBaseType(type), -1);
    fits = parts->natts == table.key_count;
    for (int i = 0; fits && i < parts->natts; ++i)
      fits = !TupleDescAttr(parts, i)->attisdropped &&
             can_be_key(TupleDescAttr(parts, i)->atttypid, table.columns[table.key[i]].type);
  }
  if (fits) return;
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("%s: the groups have ids of type %s, which the key (%s) of %s has not", on.function,
                  format_type_be(type),
                  joined(table.key_count, ", ", [&](int i) { return table.columns[table.key[i]].name; }),
                  table.name),
           errhint("Cast the ids in a query, or name the column with such ids as id. It needs a unique index "
                   "and NOT NULL. The ids for a key of several columns are rows of a composite type.")));
}

// Returns the query for the groups. Errors unless it is a single SELECT.
const char *groups_query(const Statements &on, const char *groups) {
  const char *query = is_relation_name(groups) ? psprintf("TABLE %s", groups) : groups;
  List *statements = parse_given(query);
  if (list_length(statements) == 1 && IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt)) {
    const RawStmt *statement = linitial_node(RawStmt, statements);
    return statement->stmt_len > 0 ? pnstrdup(query + statement->stmt_location, statement->stmt_len) : query;
  }
  ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                  errmsg("%s: the groups must be the name of a view or table, or a single SELECT statement",
                         on.function),
                  errhint("It returns the id of each row and the id of its survivor, as "
                          "'SELECT id, group_id FROM groups'.")));
  pg_unreachable();
}

// "i0, i1" of the key's places.
const char *numbered(const char *name, int count) {
  return joined(count, ", ", [&](int i) { return psprintf("%s%d", name, i); });
}

const char *equal(const TableShape &table, const char *left, const char *right) {
  return joined(table.key_count, " AND ",
                [&](int i) { return psprintf("%s%d %s %s%d", left, i, table.key_operators[i], right, i); });
}

// Returns the condition that a row of the table has the key.
const char *row_has(const TableShape &table, const char *key) {
  return joined(table.key_count, " AND ", [&](int i) {
    return psprintf("%s %s %s%d", table.key_value(i, "t"), table.key_operators[i], key, i);
  });
}

// Returns the type in which ids are compared with the key. An integer may be too large for the key's type,
// and is in no row then.
const char *compared_as(const TableShape &table, int place) {
  const TableColumn &column = table.columns[table.key[place]];
  const bool widens = is_id_type(column.base_type) &&
                      std::string_view(table.key_operators[place]) == "OPERATOR(pg_catalog.=)";
  return widens ? "pg_catalog.int8" : column.compared_name;
}

const char *with_clause(const TableShape &table) {
  const int keys = table.key_count;
  const auto cast = [&](const char *name) {
    return joined(keys, ", ", [&](int i) {
      return psprintf("CAST(a.%s%d AS %s)%s AS %s%d", name, i, compared_as(table, i),
                      table.columns[table.key[i]].collate, name, i);
    });
  };
  const char *survivor_of_pair = equal(table, "pair.s", "survivor.s");
  return psprintf(
      "WITH given AS MATERIALIZED (SELECT DISTINCT %s, %s FROM ROWS FROM (pg_catalog.unnest($1), "
      "pg_catalog.unnest($2)) AS a (%s, %s)), "
      "pair AS MATERIALIZED (SELECT g.* FROM given g JOIN %s t ON %s WHERE (%s) IS NOT TRUE), "
      "survivor AS MATERIALIZED (SELECT d.*, pg_catalog.row_number() OVER (ORDER BY %s) AS entry FROM "
      "(SELECT DISTINCT %s FROM pair) d), "
      "member AS MATERIALIZED (SELECT survivor.entry, %s, false AS survives FROM pair JOIN survivor ON %s "
      "UNION ALL SELECT survivor.entry, %s, true FROM survivor)",
      cast("i"), cast("s"), numbered("i", keys), numbered("s", keys), table.only(), row_has(table, "g.i"),
      equal(table, "g.i", "g.s"), numbered("s", keys), numbered("s", keys),
      joined(keys, ", ", [](int i) { return psprintf("pair.i%d AS k%d", i, i); }), survivor_of_pair,
      numbered("survivor.s", keys));
}

int elements(Datum array) {
  const ArrayType *its = DatumGetArrayTypeP(array);
  return ArrayGetNItems(ARR_NDIM(its), ARR_DIMS(its));
}

// Errors where the groups contradict each other or the table.
void check_groups(const Statements &on, const GroupsInput &groups, const TableShape &table) {
  const int keys = table.key_count;
  const char *id = keys == 1 ? "pg_catalog.format('%s', i0)"
                             : psprintf("CAST(ROW(%s) AS pg_catalog.text)", numbered("i", keys));
  const char *survivor = keys == 1 ? "pg_catalog.format('%s', s0)"
                                   : psprintf("CAST(ROW(%s) AS pg_catalog.text)", numbered("s", keys));
  const TextRows faults = on.read(
      psprintf("%s SELECT * FROM (SELECT 1 AS fault, %s AS id FROM given WHERE pg_catalog.num_nulls(%s, %s) "
               "OPERATOR(pg_catalog.>) 0 "
               "UNION ALL SELECT 2, %s FROM pair GROUP BY %s HAVING pg_catalog.count(*) "
               "OPERATOR(pg_catalog.>) 1 "
               "UNION ALL SELECT 3, %s FROM pair WHERE EXISTS (SELECT FROM survivor WHERE %s) "
               "UNION ALL SELECT 4, %s FROM survivor WHERE NOT EXISTS (SELECT FROM %s t WHERE %s)) f "
               "ORDER BY fault, id LIMIT 1",
               groups.with, id, numbered("i", keys), numbered("s", keys), id, numbered("i", keys), id,
               equal(table, "survivor.s", "pair.i"), survivor, table.only(), row_has(table, "survivor.s")),
      groups.parameters);
  if (faults.rows == 0) return;
  const auto fault = static_cast<int>(faults.number_at(0, 0));
  const char *shown = faults.at(0, 1);
  const char *hint =
      "A query with the columns id and survivor, as of a dedup view, names one survivor for each "
      "row, which is its own survivor.";
  if (fault == 1)
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: the groups have an id or a survivor that is NULL", on.function),
                    errhint("Leave such rows out with WHERE ... IS NOT NULL.")));
  if (fault == 2)
    ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                    errmsg("%s: the groups name two survivors for the row %s", on.function, shown),
                    errhint("%s", hint)));
  if (fault == 3)
    ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                    errmsg("%s: the row %s survives in one group and goes in another", on.function, shown),
                    errhint("%s", hint)));
  ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                  errmsg("%s: the survivor %s is not in %s", on.function, shown, table.name),
                  errhint("Form the groups anew, or refresh their view.")));
}

}  // namespace

GroupsInput read_groups(const Statements &on, const char *groups, const TableShape &table) {
  if (table.key_count == 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
                    errmsg("%s: no unique index identifies the rows of %s", on.function, table.name),
                    errhint("Give the table a primary key, or name as id a column with NOT NULL and a unique "
                            "index of its own.")));
  const char *query = groups_query(on, groups);
  Datum values[2];
  bool nulls[2];
  Oid types[2];
  // Other columns of the query may have any name.
  on.read_values(psprintf("SELECT * FROM (%s\n) AS g (id, survivor) LIMIT 0", query), 2, values, nulls, types,
                 {}, Path::callers);
  check_id_type(on, types[0], table);
  check_id_type(on, types[1], table);
  const char *differ =
      types[0] == types[1] ? "pg_catalog.record_image_ne(ROW(\"its id\"), ROW(\"its survivor\"))" : "true";
  on.read_values(
      psprintf(
          "SELECT pg_catalog.array_agg(\"its id\"), pg_catalog.array_agg(\"its survivor\") FROM (%s\n) AS "
          "g (\"its id\", \"its survivor\") WHERE %s OR pg_catalog.num_nulls(\"its id\") "
          "OPERATOR(pg_catalog.>) 0",
          query, differ),
      2, values, nulls, types, {}, Path::callers);
  GroupsInput input = {Parameters().with(types[0], values[0], nulls[0]).with(types[1], values[1], nulls[1]),
                       with_clause(table), nulls[0] ? 0 : elements(values[0])};
  check_groups(on, input, table);
  return input;
}

const char *member_rows(const GroupsInput &groups, const TableShape &table) {
  const JournalColumns &marks = table.journal;
  return psprintf(
      "%s SELECT m.entry AS %s, CASE WHEN m.survives THEN 'before' ELSE 'deleted' END AS %s, t.tableoid AS "
      "%s, t.ctid AS %s, %s FROM member m JOIN %s t ON %s",
      groups.with, marks.entry, marks.action, marks.table, marks.row, table.all("t"), table.only(),
      row_has(table, "m.k"));
}

}  // namespace simjoin::pg
