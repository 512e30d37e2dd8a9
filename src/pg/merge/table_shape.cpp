#include "pg/merge/table_shape.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/syscache.h"
}

#include <cstring>

#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

// The operators are those of the index, by which PostgreSQL tells the rows apart, too. An index of another
// collation than its column may tell rows apart that statements do not.
constexpr const char *key_query = R"(
SELECT i.indkey[k.place], pg_catalog.format('OPERATOR(%%I.%%s)', n.nspname, o.oprname)
FROM (SELECT i.* FROM pg_catalog.pg_index i
      WHERE i.indrelid = %u AND i.indisunique AND i.indisvalid AND i.indimmediate
            AND i.indpred IS NULL AND i.indexprs IS NULL
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a, pg_catalog.generate_series(0, i.indnkeyatts - 1) p (place)
                            WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[p.place]
                                  AND (NOT a.attnotnull OR a.attcollation <> i.indcollation[p.place]
                                       AND EXISTS (SELECT FROM pg_catalog.pg_collation l
                                                   WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)))
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_opclass c, pg_catalog.generate_series(0, i.indnkeyatts - 1) p (place)
                            WHERE c.oid = i.indclass[p.place] AND c.opcmethod <> 403)
            AND (%s IS NULL OR (SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY a.attname)
                                FROM pg_catalog.pg_attribute a, pg_catalog.generate_series(0, i.indnkeyatts - 1) p (place)
                                WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[p.place])
                               = (SELECT pg_catalog.array_agg(u.name ORDER BY u.name::pg_catalog.name) FROM pg_catalog.unnest(%s) u (name)))
      ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid LIMIT 1) i
     CROSS JOIN pg_catalog.generate_series(0, i.indnkeyatts - 1) k (place)
     JOIN pg_catalog.pg_opclass c ON c.oid = i.indclass[k.place]
     JOIN pg_catalog.pg_amop a ON a.amopfamily = c.opcfamily AND a.amoplefttype = c.opcintype
                                  AND a.amoprighttype = c.opcintype AND a.amopstrategy = 3
     JOIN pg_catalog.pg_operator o ON o.oid = a.amopopr
     JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
ORDER BY k.place)";

[[noreturn]] void raise_altered(const Statements &on, const char *table) {
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("%s: another session has altered %s during the call", on.function, table),
                  errhint("Call the function again.")));
  pg_unreachable();
}

const char *collate_clause(Oid collation) {
  if (!OidIsValid(collation)) return "";
  HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for collation %u", collation);
  const auto *its = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple));
  const char *clause =
      psprintf(" COLLATE %s",
               quote_qualified_identifier(get_namespace_name(its->collnamespace), NameStr(its->collname)));
  ReleaseSysCache(tuple);
  return clause;
}

void describe_base_type(TableColumn *column) {
  column->base_modifier = column->modifier;
  column->base_type = getBaseTypeAndTypmod(column->type, &column->base_modifier);
  column->base_name = qualified_type(column->base_type, column->base_modifier);
  column->compared_name = qualified_type(column->base_type);
}

void describe_columns_of(TupleDesc columns, TableShape *shape) {
  shape->columns = static_cast<TableColumn *>(palloc0(sizeof(TableColumn) * (columns->natts + 1)));
  for (int i = 0; i < columns->natts; ++i) {
    const FormData_pg_attribute *from = TupleDescAttr(columns, i);
    if (from->attisdropped) continue;
    TableColumn *column = &shape->columns[shape->column_count++];
    column->plain_name = pstrdup(NameStr(from->attname));
    column->name = quote_identifier(column->plain_name);
    column->number = from->attnum;
    column->type = from->atttypid;
    column->modifier = from->atttypmod;
    column->type_name = qualified_type(from->atttypid);
    describe_base_type(column);
    column->collation = from->attcollation;
    column->collate = collate_clause(from->attcollation);
    column->generated = from->attgenerated != '\0';
    column->identity = from->attidentity == 'a';
    column->may_be_null = !from->attnotnull;
    column->array = OidIsValid(get_element_type(column->base_type));
  }
}

// Gives generated columns their expressions.
void read_expressions(const Statements &on, TableShape *shape) {
  const TextRows rows = on.read_catalog(psprintf(
      "SELECT d.adnum, pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d JOIN "
      "pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = %u AND "
      "a.attgenerated <> ''",
      shape->oid));
  for (int i = 0; i < rows.rows; ++i) {
    const int column = shape->find(static_cast<AttrNumber>(rows.number_at(i, 0)));
    if (column >= 0) shape->columns[column].expression = rows.at(i, 1);
  }
}

// Chooses the journal's names, which no column of the table has.
JournalColumns journal_columns(const TableShape &shape) {
  const char *prefix = "merge_";
  for (int i = 0; i < shape.column_count;) {
    if (std::strncmp(shape.columns[i].plain_name, prefix, std::strlen(prefix)) == 0 &&
        std::strlen(prefix) < NAMEDATALEN - 20) {
      prefix = psprintf("%s_", prefix);
      i = 0;
    } else {
      ++i;
    }
  }
  return {psprintf("%sentry", prefix), psprintf("%saction", prefix), psprintf("%stable", prefix),
          psprintf("%srow", prefix), prefix};
}

void read_key(const Statements &on, const KeyNames &key, TableShape *shape) {
  const char *names = key.count == 0 ? "CAST(NULL AS pg_catalog.text[])" : text_array(key.count, key.names);
  const TextRows rows = on.read_catalog(psprintf(key_query, shape->oid, names, names));
  shape->key = static_cast<int *>(palloc0(sizeof(int) * (rows.rows + 1)));
  shape->key_operators = static_cast<const char **>(palloc0(sizeof(char *) * (rows.rows + 1)));
  shape->key_count = rows.rows;
  for (int i = 0; i < rows.rows; ++i) {
    shape->key[i] = place_of(on, *shape, rows.number_at(i, 0));
    shape->key_operators[i] = rows.at(i, 1);
  }
}

}  // namespace

const char *qualified_type(Oid type, int32 modifier) {
  return format_type_extended(type, modifier, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

int TableShape::find(const char *its_name) const {
  for (int i = 0; i < column_count; ++i)
    if (std::strcmp(columns[i].plain_name, its_name) == 0) return i;
  return -1;
}

int TableShape::find(AttrNumber number) const {
  for (int i = 0; i < column_count; ++i)
    if (columns[i].number == number) return i;
  return -1;
}

bool TableShape::is_key(int column) const {
  for (int i = 0; i < key_count; ++i)
    if (key[i] == column) return true;
  return false;
}

const char *TableShape::all(const char *alias) const {
  return joined(column_count, ", ", [&](int i) { return psprintf("%s.%s", alias, columns[i].name); });
}

const char *TableShape::key_list(const char *alias) const {
  return joined(key_count, ", ", [&](int i) { return psprintf("%s.%s", alias, columns[key[i]].name); });
}

const char *TableShape::base_value(int column, const char *alias) const {
  const TableColumn &its = columns[column];
  return its.base_type == its.type ? psprintf("%s.%s", alias, its.name)
                                   : psprintf("CAST(%s.%s AS %s)", alias, its.name, its.base_name);
}

const char *TableShape::key_value(int place, const char *alias) const {
  const TableColumn &its = columns[key[place]];
  return its.base_type == its.type ? psprintf("%s.%s", alias, its.name)
                                   : psprintf("CAST(%s.%s AS %s)", alias, its.name, its.compared_name);
}

const char *TableShape::same_key(const char *left, const char *right) const {
  return joined(key_count, " AND ", [&](int i) {
    return psprintf("%s %s %s", key_value(i, left), key_operators[i], key_value(i, right));
  });
}

const char *TableShape::shown_key(const char *alias) const {
  if (key_count == 1) return psprintf("pg_catalog.format('%%s', %s)", key_list(alias));
  return psprintf("CAST(ROW(%s) AS pg_catalog.text)", key_count == 0 ? all(alias) : key_list(alias));
}

TableShape describe_table(const Statements &on, Oid table, const KeyNames &key) {
  TableShape shape = {};
  shape.oid = table;
  // Its name can change until it is locked.
  Relation relation = try_relation_open(table, AccessShareLock);
  if (relation == nullptr) raise_altered(on, "a table");
  shape.name = relation_name(table);
  shape.plain_name = quote_identifier(pstrdup(RelationGetRelationName(relation)));
  shape.partitioned = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
  describe_columns_of(RelationGetDescr(relation), &shape);
  relation_close(relation, NoLock);
  read_expressions(on, &shape);
  read_key(on, key, &shape);
  shape.journal = journal_columns(shape);
  return shape;
}

int place_of(const Statements &on, const TableShape &shape, int64 number) {
  const int place = shape.find(static_cast<AttrNumber>(number));
  if (place < 0) raise_altered(on, shape.name);
  return place;
}

void check_written(const Statements &on, uint64 written, uint64 expected, const TableShape &shape) {
  if (written == expected) return;
  ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
                  errmsg("%s: " UINT64_FORMAT " rows of %s were to be written, but " UINT64_FORMAT " were",
                         on.function, expected, shape.name, written),
                  errhint("A trigger or a foreign key that cascades has changed rows or left them out. "
                          "Disable it for the call.")));
}

void check_plain_table(const Statements &on, Oid table) {
  if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
             errmsg("%s: row-level security of %s may hide rows from you", on.function, relation_name(table)),
             errhint("Call the function as the owner of the table, or as a role with BYPASSRLS.")));
  const TextRows rules = on.read_catalog(
      psprintf("SELECT rulename FROM pg_catalog.pg_rewrite WHERE ev_class = %u AND ev_type <> '1' AND "
               "ev_enabled <> 'D' ORDER BY rulename LIMIT 1",
               table));
  if (rules.rows > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("%s: the rule \"%s\" of %s could write elsewhere", on.function, rules.at(0, 0),
                           relation_name(table)),
                    errhint("Disable it for the call: ALTER TABLE %s DISABLE RULE %s.", relation_name(table),
                            quote_identifier(rules.at(0, 0)))));
}

}  // namespace simjoin::pg
