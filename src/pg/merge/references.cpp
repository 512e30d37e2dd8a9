#include "pg/merge/references.hpp"

extern "C" {
#include "access/relation.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

// One row a column of a foreign key. A foreign key of a partition belongs to that of its table. An index of
// another collation than its nondeterministic column has rows that the foreign key takes for one.
constexpr const char *foreign_keys_query = R"(
SELECT c.conrelid, c.oid, c.conname, c.conkey[k.place], c.confkey[k.place],
       pg_catalog.format('OPERATOR(%%I.%%s)', n.nspname, o.oprname),
       CASE WHEN l.typtype <> 'p' THEN o.oprleft END, CASE WHEN r.typtype <> 'p' THEN o.oprright END,
       COALESCE(pg_catalog.to_jsonb(c) ->> 'conperiod', 'false'),
       EXISTS (SELECT FROM pg_catalog.pg_index i CROSS JOIN pg_catalog.generate_series(0, i.indnkeyatts - 1) p (place)
                    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = i.indkey[p.place]
                    JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
               WHERE i.indexrelid = c.conindid AND a.attcollation <> i.indcollation[p.place] AND NOT l.collisdeterministic)
FROM pg_catalog.pg_constraint c
     CROSS JOIN pg_catalog.generate_series(1, pg_catalog.cardinality(c.conkey)) k (place)
     JOIN pg_catalog.pg_operator o ON o.oid = c.conpfeqop[k.place]
     JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
     JOIN pg_catalog.pg_type l ON l.oid = o.oprleft JOIN pg_catalog.pg_type r ON r.oid = o.oprright
WHERE c.contype = 'f' AND c.confrelid = %u AND c.conparentid = 0
ORDER BY c.conrelid, c.oid, k.place)";

// Indexes that forbid equal rows now: not those that could not be built, and no deferrable constraints.
constexpr const char *unique_indexes_query = R"(
SELECT i.indexrelid, pg_catalog.pg_get_indexdef(i.indexrelid, k.place, true), pg_catalog.pg_get_expr(i.indpred, i.indrelid),
       COALESCE(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct', 'false'),
       CASE WHEN l.oid IS NOT NULL THEN pg_catalog.format(' COLLATE %%I.%%I', n.nspname, l.collname) END
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
     CROSS JOIN pg_catalog.generate_series(1, i.indnkeyatts::pg_catalog.int4) k (place)
     LEFT JOIN pg_catalog.pg_collation l ON l.oid = i.indcollation[k.place - 1]
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace
WHERE i.indrelid = %u AND i.indisunique AND i.indimmediate
      AND CASE x.relkind WHEN 'I' THEN i.indisvalid ELSE i.indisready END
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_opclass c, pg_catalog.generate_series(0, i.indnkeyatts - 1) p (place)
                      WHERE c.oid = i.indclass[p.place] AND NOT c.opcdefault)
ORDER BY i.indexrelid, k.place)";

// One row a column of each foreign key of a table, or of a partition of it. Keys that partitions inherit, and
// those to partitions of a table, belong to another one.
constexpr const char *kept_keys_query = R"(
SELECT c.oid, c.conname, a.attname, pg_catalog.format('OPERATOR(%%I.%%s)', n.nspname, o.oprname),
       CASE WHEN l.typtype <> 'p' THEN o.oprleft END
FROM pg_catalog.pg_constraint c
     CROSS JOIN pg_catalog.generate_series(1, pg_catalog.cardinality(c.conkey)) k (place)
     JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[k.place]
     JOIN pg_catalog.pg_operator o ON o.oid = c.conffeqop[k.place]
     JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
     JOIN pg_catalog.pg_type l ON l.oid = o.oprleft
WHERE c.contype = 'f'
      AND (c.conrelid = %u OR c.conparentid = 0 AND c.conrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(%u)))
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint p
                      WHERE p.oid = c.conparentid AND (p.conrelid = c.conrelid OR p.confrelid <> c.confrelid))
ORDER BY c.oid, k.place)";

// The most columns of a table. Statements have each of them twice, and PostgreSQL allows 1664.
constexpr int most_columns = 800;

// "CAST('{1,2}' AS oid[])"
const char *oid_array(Datum tables) {
  Datum *elements;
  bool *nulls;
  int count;
  deconstruct_array(DatumGetArrayTypeP(tables), REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT, &elements,
                    &nulls, &count);
  return psprintf("CAST('{%s}' AS pg_catalog.oid[])", joined(count, ",", [&](int i) {
                    return psprintf("%u", nulls[i] ? InvalidOid : DatumGetObjectId(elements[i]));
                  }));
}

// Returns how many rows from `first` on have the same value in the column as that one.
int run_length(const TextRows &rows, int first, int column) {
  int length = 1;
  while (first + length < rows.rows && rows.oid_at(first + length, column) == rows.oid_at(first, column))
    ++length;
  return length;
}

template <class T>
T *zeroed(int count) {
  return static_cast<T *>(palloc0(sizeof(T) * (count + 1)));
}

// Returns whether values of the column can be equal that reference different rows. PostgreSQL takes all of
// them for references to a row that is deleted.
bool mixes_up_rows(const TableColumn &from, const TableColumn &to) {
  return from.collation != to.collation && OidIsValid(from.collation) && OidIsValid(to.collation) &&
         !get_collation_isdeterministic(from.collation) && get_collation_isdeterministic(to.collation);
}

// Errors where a redirection could not write into a column of the foreign key, or not find out what to write.
void check_can_follow(const Statements &on, const ForeignKey &key, const TableShape &from,
                      const TableShape &to, const char *obstacle) {
  for (int i = 0; i < key.column_count; ++i) {
    const TableColumn &column = from.columns[key.from[i]];
    if (column.generated) obstacle = psprintf("the generated column %s", column.name);
    if (column.identity) obstacle = psprintf("the identity column %s", column.name);
    if (mixes_up_rows(column, to.columns[key.to[i]])) obstacle = "a nondeterministic collation of its own";
  }
  if (obstacle == nullptr) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("%s: the foreign key \"%s\" of %s has %s", on.function, key.name, from.name, obstacle),
           errhint("Redirect it by a statement of your own, and drop it for the merge.")));
}

// Returns the type that an operator takes, or that of the column without its domain where it takes several.
const char *type_or(const TextRows &rows, int row, int column, const TableColumn &its) {
  return rows.at(row, column) == nullptr ? its.compared_name : qualified_type(rows.oid_at(row, column));
}

// Makes a foreign key of `count` rows of the query.
ForeignKey foreign_key(const Statements &on, const TextRows &rows, int first, int count,
                       const TableShape &from, const TableShape &to) {
  ForeignKey key = {rows.oid_at(first, 1),       rows.at(first, 2),          count,
                    zeroed<int>(count),          zeroed<int>(count),         zeroed<const char *>(count),
                    zeroed<const char *>(count), zeroed<const char *>(count)};
  for (int i = 0; i < count; ++i) {
    key.from[i] = place_of(on, from, rows.number_at(first + i, 3));
    key.to[i] = place_of(on, to, rows.number_at(first + i, 4));
    key.operators[i] = rows.at(first + i, 5);
    key.left_types[i] = type_or(rows, first + i, 6, to.columns[key.to[i]]);
    key.right_types[i] = type_or(rows, first + i, 7, from.columns[key.from[i]]);
  }
  const char *obstacle = nullptr;
  if (rows.at(first, 8)[0] == 't') obstacle = "a PERIOD";
  if (rows.at(first, 9)[0] == 't') obstacle = "an index of another collation than its column";
  check_can_follow(on, key, from, to, obstacle);
  return key;
}

void read_kept_keys(const Statements &on, ReferencingTable *table) {
  const TextRows rows = on.read_catalog(psprintf(kept_keys_query, table->shape.oid, table->shape.oid));
  table->kept = zeroed<KeptKey>(rows.rows);
  for (int row = 0; row < rows.rows;) {
    const int count = run_length(rows, row, 0);
    KeptKey *key = &table->kept[table->kept_count++];
    *key = {rows.at(row, 1),
            -1,
            count,
            zeroed<int>(count),
            zeroed<const char *>(count),
            zeroed<const char *>(count)};
    for (int k = 0; k < table->key_count; ++k)
      if (table->keys[k].oid == rows.oid_at(row, 0)) key->followed = k;
    for (int i = 0; i < count; ++i) {
      const int column = table->shape.find(rows.at(row + i, 2));
      key->columns[i] = place_of(on, table->shape, column < 0 ? 0 : table->shape.columns[column].number);
      key->operators[i] = rows.at(row + i, 3);
      key->types[i] = type_or(rows, row + i, 4, table->shape.columns[key->columns[i]]);
    }
    row += count;
  }
}

void read_indexes(const Statements &on, ReferencingTable *table) {
  const TextRows rows = on.read_catalog(psprintf(unique_indexes_query, table->shape.oid));
  table->indexes = zeroed<UniqueIndex>(rows.rows);
  for (int row = 0; row < rows.rows;) {
    const int count = run_length(rows, row, 0);
    UniqueIndex *index = &table->indexes[table->index_count++];
    index->key_count = count;
    index->keys = zeroed<const char *>(count);
    for (int i = 0; i < count; ++i) {
      const char *collate = rows.at(row + i, 4);
      index->keys[i] = psprintf("(%s)%s", rows.at(row + i, 1), collate == nullptr ? "" : collate);
    }
    index->predicate = rows.at(row, 2);
    index->nulls_equal = rows.at(row, 3)[0] == 't';
    row += count;
  }
}

// Errors where foreign keys lead to a partition alone: their rows cannot follow to another partition. Or
// where a partition has a key of its own to the table: a row would be both one that goes and one that
// follows.
void check_partitions(const Statements &on, Oid table) {
  const TextRows own = on.read_catalog(
      psprintf("SELECT c.conrelid, c.conname FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND "
               "c.conparentid = 0 AND c.confrelid = %u AND c.conrelid <> %u AND c.conrelid IN (SELECT relid "
               "FROM pg_catalog.pg_partition_tree(%u)) ORDER BY c.oid LIMIT 1",
               table, table, table));
  if (own.rows > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("%s: the foreign key \"%s\" is of the partition %s alone", on.function,
                           own.at(0, 1), relation_name(own.oid_at(0, 0))),
                    errhint("Give the key to the partitioned table, or drop it for the merge.")));
  const TextRows rows = on.read_catalog(
      psprintf("SELECT c.conrelid, c.confrelid FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND "
               "c.conparentid = 0 AND c.confrelid <> %u AND c.confrelid IN (SELECT relid FROM "
               "pg_catalog.pg_partition_tree(%u)) LIMIT 1",
               table, table));
  if (rows.rows == 0) return;
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("%s: %s references the partition %s alone", on.function,
                         relation_name(rows.oid_at(0, 0)), relation_name(rows.oid_at(0, 1))),
                  errhint("Let it reference the partitioned table.")));
}

[[noreturn]] void raise_renamed(const Statements &on, const char *name) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_IN_USE), errmsg("%s: %s has been renamed meanwhile", on.function, name),
           errhint("Call the function again.")));
  pg_unreachable();
}

}  // namespace

bool ReferencingTable::redirects(int column) const {
  for (int k = 0; k < key_count; ++k)
    for (int i = 0; i < keys[k].column_count; ++i)
      if (keys[k].from[i] == column) return true;
  return false;
}

const char *TrustedTables::distrusts(const char *alias) const {
  return psprintf(
      "(%s.relowner <> %u AND %s.relowner IS DISTINCT FROM (SELECT relowner FROM pg_catalog.pg_class WHERE "
      "oid = %u) AND %s.oid <> ALL (%s) AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolsuper AND "
      "oid = %s.relowner))",
      alias, GetUserId(), alias, merged, alias, oid_array(named), alias);
}

void lock_against_writers(const Statements &on, Oid table) {
  const char *name = relation_name(table);
  const char *only = get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ";
  on.run(psprintf("LOCK TABLE %s%s IN SHARE ROW EXCLUSIVE MODE", only, name));
  // While we waited, another table may have got the name.
  Relation relation = try_relation_open(table, AccessShareLock);
  const bool locked = relation != nullptr && CheckRelationLockedByMe(relation, ShareRowExclusiveLock, true);
  if (relation != nullptr) relation_close(relation, NoLock);
  if (!locked) raise_renamed(on, name);
}

void check_name(const Statements &on, Oid table, const char *name) {
  AcceptInvalidationMessages();
  if (strcmp(relation_name(table), name) != 0) raise_renamed(on, name);
}

namespace {

// Returns the argument that trusts all tables of the call that it writes to, in place of one after the other.
const char *trusting_all(const Statements &on, const TrustedTables &trusted) {
  const TextRows rows = on.read_catalog(
      psprintf("SELECT c.oid FROM pg_catalog.pg_class c WHERE (%s OR c.oid = ANY (%s)) AND c.oid IN (SELECT "
               "w.oid FROM (%s) w (oid) UNION SELECT p.relid FROM (%s) w (oid) CROSS JOIN LATERAL "
               "pg_catalog.pg_partition_tree(w.oid) p) ORDER BY c.oid",
               trusted.distrusts("c"), oid_array(trusted.named), trusted.written, trusted.written));
  return psprintf("trusted => ARRAY[%s]::regclass[]", joined(rows.rows, ", ", [&](int i) {
                    return quote_literal_cstr(relation_name(rows.oid_at(i, 0)));
                  }));
}

}  // namespace

void check_owners(const Statements &on, Oid table, const TrustedTables &trusted) {
  const TextRows rows = on.read_catalog(
      psprintf("SELECT c.oid, pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c WHERE (c.oid "
               "= %u OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree(%u))) AND %s ORDER BY c.oid "
               "LIMIT 1",
               table, table, trusted.distrusts("c")));
  if (rows.rows == 0) return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("%s: the role \"%s\" owns %s, which would be written to", on.function, rows.at(0, 1),
                         relation_name(rows.oid_at(0, 0))),
                  errdetail("Triggers of that table would run with your rights."),
                  errhint("If you trust the roles, name their tables: %s.", trusting_all(on, trusted))));
}

void check_width(const Statements &on, const TableShape &shape) {
  if (shape.column_count <= most_columns) return;
  ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
                  errmsg("%s: %s has more than %d columns", on.function, shape.name, most_columns),
                  errhint("Keep some of its columns in another table.")));
}

void check_is_table(const Statements &on, Oid table) {
  const char *name = relation_name(table);
  const char kind = get_rel_relkind(table);
  if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("%s: %s is not a table", on.function, name),
                    errhint("Rows of a table are merged. Name the table that a view shows.")));
  if (IsCatalogRelationOid(table))
    ereport(ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("%s: %s is a system catalog", on.function, name),
             errhint("Name a table of your own.")));
}

void check_merged_table(const Statements &on, Oid table, const TrustedTables &trusted, bool lock) {
  check_is_table(on, table);
  if (get_rel_relispartition(table))
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("%s: %s is a partition", on.function, relation_name(table)),
                    errhint("Name the partitioned table.")));
  if (lock) lock_against_writers(on, table);
  check_plain_table(on, table);
  check_owners(on, table, trusted);
  check_partitions(on, table);
}

References find_references(const Statements &on, const TableShape &table, const TrustedTables &trusted,
                           bool lock, bool resolve) {
  const TextRows rows = on.read_catalog(psprintf(foreign_keys_query, table.oid));
  References found = {0, zeroed<ReferencingTable>(rows.rows)};
  for (int row = 0; row < rows.rows;) {
    const Oid oid = rows.oid_at(row, 0);
    const int end = row + run_length(rows, row, 0);
    if (lock) lock_against_writers(on, oid);
    check_owners(on, oid, trusted);
    check_plain_table(on, oid);
    ReferencingTable *referencing = &found.tables[found.count++];
    referencing->shape = describe_table(on, oid);
    check_width(on, referencing->shape);
    referencing->self = oid == table.oid;
    referencing->keys = zeroed<ForeignKey>(end - row);
    while (row < end) {
      const int count = run_length(rows, row, 1);
      referencing->keys[referencing->key_count++] =
          foreign_key(on, rows, row, count, referencing->shape, table);
      row += count;
    }
    read_kept_keys(on, referencing);
    if (resolve && !referencing->self) read_indexes(on, referencing);
  }
  return found;
}

}  // namespace simjoin::pg
