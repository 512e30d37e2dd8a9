#include "pg/dedup/id_queries.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

// How keys are compared: by the equality that belongs to their order, and as values of its type. A name
// without schema and type might find another operator.
struct KeyEquality {
  const char *name;
  const char *type;
};

KeyEquality equality_of(Oid key_type) {
  const Oid equality = lookup_type_cache(key_type, TYPECACHE_EQ_OPR)->eq_opr;
  HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(equality));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "type %u has no equality", key_type);
  const auto *form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(tuple));
  const char *name = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)),
                              NameStr(form->oprname));
  const Oid operand = form->oprleft;
  ReleaseSysCache(tuple);
  const bool any = IsPolymorphicType(operand) || operand == RECORDOID;
  return {name, format_type_extended(any ? getBaseType(key_type) : operand, -1,
                                     FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY)};
}

// Returns the condition that `id` is one of the keys of a table's rows. They are fetched into an array first,
// so that an index on the ids serves whatever the planner knows of the table.
const char *is_key_of(const DedupDefinition &definition, const char *id, const char *table_and_condition) {
  const KeyEquality equality = equality_of(definition.key_type);
  return psprintf("%s::%s %s ANY (ARRAY(SELECT part.key::%s FROM ONLY %s))", id, equality.type, equality.name,
                  equality.type, table_and_condition);
}

// Returns the id of the view's query, which is called x.
const char *id_of_source(const DedupDefinition &definition) {
  return psprintf("x.%s", quote_identifier(get_attname(definition.source, 1, false)));
}

}  // namespace

bool can_look_up(Oid key_type) {
  return OidIsValid(get_array_type(getBaseType(key_type)));
}

const char *is_noted_key(const DedupDefinition &definition, const char *id) {
  return is_key_of(definition, id, psprintf("%s part", relation_name(definition.changes)));
}

const char *is_of_numbers(const DedupDefinition &definition, const char *id) {
  constexpr const char *is_in_array = "OPERATOR(pg_catalog.=) ANY ($1)";
  if (!definition.has_keys()) return psprintf("%s %s", id, is_in_array);
  return is_key_of(definition, id,
                   psprintf("%s part WHERE part.id %s", relation_name(definition.rows), is_in_array));
}

const char *number_of(const DedupDefinition &definition, const char *id) {
  if (!definition.has_keys()) return psprintf("%s::bigint", id);
  const KeyEquality equality = equality_of(definition.key_type);
  return psprintf("(SELECT part.id FROM ONLY %s part WHERE part.key::%s %s %s::%s)",
                  relation_name(definition.rows), equality.type, equality.name, id, equality.type);
}

const char *stored_number_of(const DedupDefinition &definition, const char *id, Oid collation) {
  if (!definition.has_keys())
    return psprintf("(SELECT part.id FROM ONLY %s part WHERE part.id OPERATOR(pg_catalog.=) %s::bigint)",
                    relation_name(definition.rows), id);
  if (!OidIsValid(collation)) return number_of(definition, id);
  return number_of(definition, psprintf("(%s COLLATE %s)", id, generate_collation_name(collation)));
}

const char *noted_rows_of_source(const DedupDefinition &definition) {
  return psprintf("SELECT * FROM %s x WHERE %s", relation_name(definition.source),
                  is_noted_key(definition, id_of_source(definition)));
}

const char *some_rows_of_source(const DedupDefinition &definition, TupleDesc columns) {
  StringInfoData query;
  initStringInfo(&query);
  const char *id = id_of_source(definition);
  appendStringInfo(&query, "SELECT %s", definition.has_keys() ? number_of(definition, id) : id);
  for (int i = 1; i < columns->natts; ++i)
    appendStringInfo(&query, ", x.%s", quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
  appendStringInfo(&query, " FROM %s x WHERE %s", relation_name(definition.source),
                   is_of_numbers(definition, id));
  return query.data;
}

const char *count_of_noted_keys(const DedupDefinition &definition, size_t most) {
  return psprintf(
      "SELECT pg_catalog.count(*) FROM (SELECT DISTINCT part.key::%s FROM ONLY %s part LIMIT %zu) k",
      equality_of(definition.key_type).type, relation_name(definition.changes), most);
}

}  // namespace simjoin::pg
