// A table whose sets are at all parts where they can meet partners, and the view of its pairs.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/distributed.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "create_similarity_route";

// Returns the first value of the statement's only row as text.
const char *value_of(const char *statement) {
  MemoryContext context = CurrentMemoryContext;
  connect_spi();
  check_spi(SPI_execute(statement, true, 1));
  if (SPI_processed != 1) elog(ERROR, "%s: a statement returned no row", function);
  const char *value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
  if (value != nullptr) value = MemoryContextStrdup(context, value);
  SPI_finish();
  return value;
}

// Returns the qualified name of a new relation called after the table.
const char *new_name(Oid table, const char *label) {
  const Oid schema = get_rel_namespace(table);
  const char *name = ChooseRelationName(get_rel_name(table), nullptr, label, schema, false);
  return quote_qualified_identifier(get_namespace_name(schema), name);
}

// Returns an expression of the type bigint, for the hash, of the routed table's column id.
const char *hashed_id(Oid route) {
  const AttrNumber column = get_attnum(route, "id");
  const bool integer = is_of_kind(getBaseType(get_atttype(route, column)), ColumnKind::id);
  return integer ? "id::pg_catalog.int8" : "pg_catalog.hashtextextended(id::pg_catalog.text, 0)";
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_create_similarity_route);
Datum simjoin_create_similarity_route(PG_FUNCTION_ARGS) {
  NamedArguments(fcinfo).refuse_null(function, {});
  const Oid table = PG_GETARG_OID(0);
  const char *id = string_argument(fcinfo, 1), *tokens = string_argument(fcinfo, 2);
  const double threshold = PG_GETARG_FLOAT8(3);
  const char *measure_name = string_argument(fcinfo, 5);
  const Measure measure = symmetric_measure_by_name(measure_name, function);
  check_similarity(threshold, measure, function);

  const char *name = relation_name(table);
  // The other functions are where this one is.
  const char *schema = quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
  const char *limit = quote_literal_cstr(float8out_internal(threshold));
  const char *bounds = value_of(psprintf(
      "SELECT %s.similarity_part_bounds(coalesce(pg_catalog.array_agg(size), '{}'), "
      "coalesce(pg_catalog.array_agg(count), '{}'), %d) "
      "FROM (SELECT %s.set_size(%s) AS size, pg_catalog.count(*) AS count FROM %s GROUP BY 1) AS sizes "
      "WHERE size IS NOT NULL",
      schema, PG_GETARG_INT32(4), schema, tokens, name));

  const char *route = new_name(table, "route");
  execute_statement(
      psprintf("CREATE TABLE %s AS SELECT 0 AS part, 0 AS n, (%s) AS id, (%s) AS tokens FROM %s WITH NO DATA",
               route, id, tokens, name));
  const Oid route_oid = DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(route)));
  if (is_distributed_table(table))
    execute_statement(
        psprintf("SELECT pg_catalog.create_distributed_table(%s, 'part', colocate_with => 'none')",
                 quote_literal_cstr(route)));
  execute_statement(psprintf(
      "INSERT INTO %s (part, n, id, tokens) SELECT parts[n], n, id, tokens FROM (SELECT id, tokens, parts, "
      "pg_catalog.generate_subscripts(parts, 1) AS n FROM (SELECT id, tokens, %s.similarity_parts(%s, "
      "tokens, %s, %s, %s) "
      "AS parts FROM (SELECT (%s) AS id, (%s) AS tokens FROM %s) AS rows) AS routed) AS copies",
      route, schema, hashed_id(route_oid), limit, quote_literal_cstr(bounds),
      quote_literal_cstr(measure_name), id, tokens, name));
  execute_statement(psprintf("ANALYZE %s", route));

  const char *pairs = new_name(table, "pairs");
  const char *similarity = psprintf("%s.%s(a.tokens, b.tokens)", schema, measure_function(measure));
  execute_statement(psprintf(
      "CREATE VIEW %s AS SELECT CASE WHEN a.id < b.id THEN a.id ELSE b.id END AS a, "
      "CASE WHEN a.id < b.id THEN b.id ELSE a.id END AS b, %s AS similarity FROM %s AS a JOIN %s AS b "
      "ON a.part OPERATOR(pg_catalog.=) b.part AND a.n OPERATOR(pg_catalog.=) 1 "
      "AND (b.n OPERATOR(pg_catalog.>) 1 OR a.id < b.id) AND %s OPERATOR(pg_catalog.>=) "
      "%s::pg_catalog.float8",
      pairs, similarity, route, route, similarity, limit));
  PG_RETURN_DATUM(DirectFunctionCall1(regclassin, CStringGetDatum(pairs)));
}
}

}  // namespace simjoin::pg
