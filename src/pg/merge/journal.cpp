#include "pg/merge/journal.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"
}

#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

Oid oid_of_relation(const char *quoted_name) {
  return DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(quoted_name)));
}

// Returns the elements of an array of texts in its output form.
const char **elements_of(const char *array, int *count) {
  Oid input, parameter;
  getTypeInputInfo(TEXTARRAYOID, &input, &parameter);
  const Datum value = OidInputFunctionCall(input, const_cast<char *>(array), parameter, -1);
  Datum *elements;
  bool *nulls;
  deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, count);
  const auto texts = static_cast<const char **>(palloc0(sizeof(char *) * (*count + 1)));
  for (int i = 0; i < *count; ++i) texts[i] = nulls[i] ? "" : TextDatumGetCString(elements[i]);
  return texts;
}

[[noreturn]] void raise_no_journal(const Statements &on, const char *name) {
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                  errmsg("%s: %s is not the journal of a merge, or part of one", on.function, name),
                  errhint("Name a table that merge_duplicates returned as the journal.")));
  pg_unreachable();
}

constexpr const char *journal_hint =
    "Name the journal, in a schema that exists and that you may make tables in: journal => "
    "'my_schema.my_merge'. By default it is in the first schema of search_path.";

// The types of the first columns of a journal, and of a part, by their names in pg_catalog.
constexpr const char *journal_types =
    "regclass,regclass,int4,bool,_text,_text,int8,int8,timestamptz,timestamptz";
constexpr const char *part_types = "int8,text,oid,tid";

// Errors unless the current user owns the relation, and it is a table with these first columns.
void check_own_table(const Statements &on, Oid oid, const char *types) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
  if (!HeapTupleIsValid(tuple)) raise_no_journal(on, psprintf("the relation with OID %u", oid));
  const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
  const char kind = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relkind;
  ReleaseSysCache(tuple);
  const TextRows is = on.read_catalog(psprintf(
      "SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid CROSS JOIN "
      "pg_catalog.string_to_array('%s', ',') types WHERE a.attrelid = %u AND a.attnum > 0 AND NOT "
      "a.attisdropped GROUP BY types HAVING (pg_catalog.array_agg(CASE WHEN t.typnamespace = "
      "'pg_catalog'::pg_catalog.regnamespace THEN t.typname::pg_catalog.text END ORDER BY "
      "a.attnum))[:pg_catalog.cardinality(types)] = types",
      types, oid));
  if (kind != RELKIND_RELATION || is.rows == 0) raise_no_journal(on, relation_name(oid));
  if (owner != GetUserId())
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("%s: %s belongs to another role, which could have written into it", on.function,
                           relation_name(oid)),
                    errhint("Call the function as its owner: SET ROLE %s.",
                            quote_identifier(GetUserNameFromId(owner, false)))));
}

// Errors where other roles than the owner may do more with the table than read it, or have left a trigger: it
// would not be known who wrote its rows, by which the merge is undone.
void check_not_writable(const Statements &on, Oid oid) {
  const TextRows others = on.read_catalog(psprintf(
      "SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE "
      "pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END FROM pg_catalog.pg_class c "
      "CROSS JOIN LATERAL (SELECT x.grantee, x.privilege_type FROM pg_catalog.aclexplode(c.relacl) x "
      "UNION ALL SELECT x.grantee, x.privilege_type FROM pg_catalog.pg_attribute t CROSS JOIN LATERAL "
      "pg_catalog.aclexplode(t.attacl) x WHERE t.attrelid = c.oid) a WHERE c.oid = %u AND a.grantee <> "
      "c.relowner AND a.privilege_type <> 'SELECT' LIMIT 1",
      oid));
  if (others.rows > 0)
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
             errmsg("%s: the role %s may write to %s", on.function, others.at(0, 0), relation_name(oid)),
             errhint("Check its rows, and REVOKE ALL ON %s FROM %s.", relation_name(oid), others.at(0, 0))));
  const TextRows triggers = on.read_catalog(
      psprintf("SELECT pg_catalog.quote_ident(tgname) FROM pg_catalog.pg_trigger WHERE tgrelid = %u AND NOT "
               "tgisinternal ORDER BY tgname LIMIT 1",
               oid));
  if (triggers.rows == 0) return;
  ereport(ERROR,
          (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
           errmsg("%s: the trigger %s of %s could be another role's", on.function, triggers.at(0, 0),
                  relation_name(oid)),
           errhint("Check its rows, and DROP TRIGGER %s ON %s.", triggers.at(0, 0), relation_name(oid))));
}

// Takes from other roles what ALTER DEFAULT PRIVILEGES gave them on a table that we made.
void revoke_from_others(const Statements &on, Oid oid, const char *name) {
  const TextRows others = on.read_catalog(
      psprintf("SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE "
               "pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END FROM pg_catalog.pg_class c "
               "CROSS JOIN LATERAL "
               "pg_catalog.aclexplode(c.relacl) a WHERE c.oid = %u AND a.grantee <> c.relowner",
               oid));
  for (int i = 0; i < others.rows; ++i)
    on.run(psprintf("REVOKE ALL ON TABLE %s FROM %s CASCADE", name, others.at(i, 0)));
}

// Returns the schema that a table of this name is made in.
Oid schema_of(RangeVar *table) {
  Oid schema = InvalidOid;
  with_hint(ERRCODE_UNDEFINED_SCHEMA, journal_hint, [&] { schema = RangeVarGetCreationNamespace(table); });
  return schema;
}

// Makes a table of a journal, which the caller alone may use. Returns its OID.
Oid create_table(const Statements &on, const char *name, const char *definition, const char *comment) {
  with_hint(ERRCODE_INSUFFICIENT_PRIVILEGE, journal_hint,
            [&] { on.run(psprintf("CREATE TABLE %s %s", name, definition)); });
  on.run(psprintf("COMMENT ON TABLE %s IS '%s'", name, comment));
  const Oid oid = oid_of_relation(name);
  revoke_from_others(on, oid, name);
  return oid;
}

}  // namespace

Journal create_journal(const Statements &on, const char *name, const TableShape &table, int most_parts) {
  RangeVar *range;
  if (name != nullptr) {
    range = makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
  } else {
    range = makeRangeVar(nullptr, nullptr, -1);
    const Oid schema = schema_of(makeRangeVar(nullptr, pstrdup("journal"), -1));
    range->schemaname = get_namespace_name(schema);
    range->relname = ChooseRelationName(get_rel_name(table.oid), nullptr, "merge", schema, false);
  }
  const Oid schema = schema_of(range);
  Journal journal = {};
  journal.name = quote_qualified_identifier(get_namespace_name(schema), range->relname);
  journal.parts = static_cast<JournalPart *>(palloc0(sizeof(JournalPart) * most_parts));
  journal.oid = create_table(
      on, journal.name,
      "(relation regclass NOT NULL, part regclass PRIMARY KEY, number int NOT NULL, merged bool NOT NULL, "
      "key_columns text[] NOT NULL, changed_columns text[] NOT NULL, deleted bigint NOT NULL, "
      "updated bigint NOT NULL, merged_at timestamptz NOT NULL, undone_at timestamptz)",
      "journal of a merge of simjoin: undo_merge() undoes it");
  return journal;
}

JournalPart *add_part(const Statements &on, Journal *journal, const TableShape &shape, bool merged) {
  JournalPart *part = &journal->parts[journal->part_count];
  const Oid schema = get_rel_namespace(journal->oid);
  *part = {};  // it may have been that of a table without rows
  part->number = journal->part_count++;
  part->relation = shape.oid;
  part->merged = merged;
  part->name = quote_qualified_identifier(
      get_namespace_name(schema), ChooseRelationName(get_rel_name(journal->oid), get_rel_name(shape.oid),
                                                     merged ? "rows" : "refs", schema, false));
  part->key_count = shape.key_count;
  part->key = static_cast<const char **>(palloc0(sizeof(char *) * (shape.key_count + 1)));
  for (int i = 0; i < shape.key_count; ++i) part->key[i] = shape.columns[shape.key[i]].plain_name;
  part->columns = static_cast<const char **>(palloc0(sizeof(char *) * (shape.column_count + 1)));
  const JournalColumns &marks = shape.journal;
  const char *columns = joined(shape.column_count, ", ", [&](int i) {
    return psprintf("%s AS %s", shape.base_value(i, "t"), shape.columns[i].name);
  });
  part->oid = create_table(
      on, part->name,
      psprintf("AS SELECT CAST(NULL AS bigint) AS %s, CAST(NULL AS text) AS %s, CAST(NULL AS oid) AS %s, "
               "CAST(NULL AS tid) AS %s, %s FROM %s t WITH NO DATA",
               marks.entry, marks.action, marks.table, marks.row, columns, shape.only()),
      "part of a journal of a merge of simjoin");
  // A publication of all tables may have it, and it has no key.
  on.run(psprintf("ALTER TABLE %s REPLICA IDENTITY FULL", part->name));
  return part;
}

void note_part(const Statements &on, const Journal &journal, const JournalPart &part, uint64 deleted,
               uint64 updated) {
  on.run(psprintf("INSERT INTO %s VALUES (%s::regclass, %s::regclass, %d, %s, %s, %s, " UINT64_FORMAT
                  ", " UINT64_FORMAT ", pg_catalog.statement_timestamp())",
                  journal.name, quote_literal_cstr(relation_name(part.relation)),
                  quote_literal_cstr(part.name), part.number, part.merged ? "true" : "false",
                  text_array(part.key_count, part.key), text_array(part.column_count, part.columns), deleted,
                  updated));
}

uint64 count_of(const Statements &on, const JournalPart &part, const JournalColumns &marks,
                const char *action) {
  return static_cast<uint64>(
      on.read(psprintf("SELECT pg_catalog.count(*) FROM %s WHERE %s OPERATOR(pg_catalog.=) '%s'", part.name,
                       marks.action, action))
          .number_at(0, 0));
}

Journal read_journal(const Statements &on, Oid oid, bool undoing) {
  check_own_table(on, oid, journal_types);
  lock_against_writers(on, oid);
  Journal journal = {oid, relation_name(oid), 0, nullptr};
  if (undoing) check_not_writable(on, oid);
  const TextRows rows =
      on.read(psprintf("SELECT CAST(relation AS oid), CAST(part AS oid), number, merged, key_columns, "
                       "changed_columns, undone_at FROM ONLY %s ORDER BY merged DESC, number, part",
                       journal.name));
  journal.parts = static_cast<JournalPart *>(palloc0(sizeof(JournalPart) * (rows.rows + 1)));
  for (int i = 0; i < rows.rows; ++i) {
    for (int column = 0; column < 6; ++column)
      if (rows.at(i, column) == nullptr) raise_no_journal(on, journal.name);
    JournalPart *part = &journal.parts[journal.part_count++];
    part->relation = rows.oid_at(i, 0);
    part->oid = rows.oid_at(i, 1);
    check_own_table(on, part->oid, part_types);
    lock_against_writers(on, part->oid);
    if (undoing) check_not_writable(on, part->oid);
    part->name = relation_name(part->oid);
    part->number = static_cast<int>(rows.number_at(i, 2));
    part->merged = rows.at(i, 3)[0] == 't';
    if (part->merged != (i == 0)) raise_no_journal(on, journal.name);
    part->key = elements_of(rows.at(i, 4), &part->key_count);
    part->columns = elements_of(rows.at(i, 5), &part->column_count);
    if (undoing && rows.at(i, 6) != nullptr)
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("%s: the merge of %s has been undone", on.function, journal.name),
                      errhint("Drop the journal with drop_merge_journal.")));
  }
  if (journal.part_count == 0) raise_no_journal(on, journal.name);
  return journal;
}

}  // namespace simjoin::pg
