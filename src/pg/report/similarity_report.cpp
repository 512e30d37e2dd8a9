// A page about what thresholds find among the rows of a query, as an SQL function.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/statements.hpp"
#include "pg/query/query_source.hpp"
#include "pg/report/page.hpp"
#include "pg/report/row_texts.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *report_function = "similarity_report";
constexpr int most_parameters = 10;
constexpr uint32 most_pairs_shown = 20;  // of each kind and step, as in a profile

// The parameters of both statements: $1 query, $2 thresholds, $3 measure, $4 sample, $5 seed, $6 tokens, $7
// pairs_shown, $8 group_threshold, $9 the type of keys, and $10 the profile. The settings are the caller's,
// so each name has its schema. `s` is that of the extension.

// Returns the statement for the profile. It is the first to run the query, and what messages show.
const char *profile_statement(const char *s, const char *as_key, const char *tokens) {
  return psprintf(
      "SELECT pg_catalog.jsonb_agg(pg_catalog.to_jsonb(p) ORDER BY p.threshold DESC) "
      "FROM %s.similarity_profile(query => $1, thresholds => $2, measure => $3, sample => $4, seed => $5, "
      "pairs_shown => $7%s%s) AS p",
      s, as_key, tokens);
}

// The queries of the statement below that give the steps between thresholds, with ids as texts.
const char *step_queries() {
  constexpr const char *pairs =
      "(SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('ids', ARRAY[e.a, e.b], "
      "'similarity', e.similarity)), '[]') FROM pg_catalog.jsonb_to_recordset(p.%s) AS e "
      "(a pg_catalog.text, b pg_catalog.text, similarity pg_catalog.float8))";
  return psprintf(
      "profile AS (SELECT p.* FROM pg_catalog.jsonb_to_recordset($10) AS p (threshold pg_catalog.float8, "
      "pairs pg_catalog.int8, pairs_error pg_catalog.int8, equal_pairs pg_catalog.int8, "
      "rows_with_partner pg_catalog.int8, rows_error pg_catalog.int8, groups pg_catalog.int8, "
      "examples pg_catalog.jsonb, equal_groups pg_catalog.jsonb, drawn pg_catalog.jsonb)), "
      "steps AS (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('threshold', p.threshold, "
      "'pairs', p.pairs, 'pairs_error', p.pairs_error, 'equal_pairs', p.equal_pairs, "
      "'rows', p.rows_with_partner, 'rows_error', p.rows_error, 'groups', p.groups, 'examples', %s, 'drawn', "
      "%s, "
      "'equal', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('ids', ARRAY[e.id], "
      "'rows', e.rows)), '[]') FROM pg_catalog.jsonb_to_recordset(p.equal_groups) AS e "
      "(id pg_catalog.text, rows pg_catalog.int8))) ORDER BY p.threshold DESC) AS steps FROM profile AS p)",
      psprintf(pairs, "examples"), psprintf(pairs, "drawn"));
}

// Those that give the groups: how many have how many rows, and the largest ones with a few of their rows. The
// key stands at its place, from which PostgreSQL takes the type of the result.
const char *group_queries(const char *s, const char *as_key, const char *tokens) {
  const char *members = psprintf(
      "chosen AS (SELECT coalesce($8, (SELECT pg_catalog.percentile_disc(0.5) "
      "WITHIN GROUP (ORDER BY t DESC) FROM pg_catalog.unnest($2) AS t)) AS threshold), "
      "members AS (SELECT g.id, g.group_id, pg_catalog.count(*) OVER (PARTITION BY g.group_id) AS size, "
      "pg_catalog.row_number() OVER (PARTITION BY g.group_id "
      "ORDER BY g.is_representative DESC, g.similarity, g.id) AS n "
      "FROM chosen AS c, LATERAL %s.duplicate_groups(query => $1, threshold => c.threshold%s%s, "
      "measure => $3, max_group_share => 1) AS g)",
      s, as_key, tokens);
  constexpr const char *of_members =
      "shown AS (SELECT m.id, m.n, m.size, "
      "pg_catalog.dense_rank() OVER (ORDER BY m.size DESC, m.group_id) AS place FROM members AS m "
      "WHERE m.n OPERATOR(pg_catalog.<=) 5 AND m.size OPERATOR(pg_catalog.>) 1), "
      "largest AS (SELECT s.place, pg_catalog.jsonb_build_object('rows', pg_catalog.max(s.size), "
      "'ids', pg_catalog.jsonb_agg(pg_catalog.format('%s', s.id) ORDER BY s.n)) AS shown "
      "FROM shown AS s WHERE s.place OPERATOR(pg_catalog.<=) 8 GROUP BY s.place), "
      "sizes AS (SELECT pg_catalog.width_bucket(m.size, "
      "'{2,3,4,5,10,20,50,100,1000,10000}'::pg_catalog.int8[]) AS bucket, pg_catalog.count(*) AS groups, "
      "pg_catalog.sum(m.size) AS rows FROM members AS m "
      "WHERE m.n OPERATOR(pg_catalog.=) 1 AND m.size OPERATOR(pg_catalog.>) 1 GROUP BY 1)";
  return psprintf("%s, %s", members, of_members);
}

// Returns the statement for the data of a report, JSON without the rows themselves, and for the ids of the
// rows that are shown, as texts.
const char *data_statement(const char *s, const char *as_key, const char *tokens) {
  constexpr const char *data =
      "data AS MATERIALIZED (SELECT pg_catalog.jsonb_build_object('query', $1, 'measure', $3, "
      "'sample', $4, 'tokens', $6, 'key', $9, 'steps', t.steps, 'group_threshold', c.threshold, "
      "'largest', (SELECT coalesce(pg_catalog.jsonb_agg(l.shown ORDER BY l.place), '[]') FROM largest AS l), "
      "'sizes', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(z) ORDER BY z.bucket), '[]') "
      "FROM sizes AS z)) AS data FROM steps AS t, chosen AS c)";
  constexpr const char *result =
      "SELECT d.data::pg_catalog.text, (SELECT coalesce(pg_catalog.array_agg(DISTINCT e.id), '{}') "
      "FROM pg_catalog.jsonb_path_query(d.data, '$.**.ids') AS i (ids), "
      "pg_catalog.jsonb_array_elements_text(i.ids) AS e (id)) FROM data AS d";
  return psprintf("WITH %s, %s, %s %s", step_queries(), group_queries(s, as_key, tokens), data, result);
}

// What the statements are given.
struct Parameters {
  Oid types[most_parameters];
  Datum values[most_parameters];
  char nulls[most_parameters];
  int count;

  void add(Oid type, Datum value, bool isnull = false) {
    types[count] = type;
    values[count] = value;
    nulls[count++] = isnull ? 'n' : ' ';
  }
};

// Errors where an argument is not valid. The profile checks the others.
void check_arguments(const NamedArguments &arguments) {
  const Measure measure = symmetric_measure_by_name(arguments.string("measure"), report_function);
  if (!arguments.is_null("group_threshold"))
    check_similarity(arguments.real("group_threshold"), measure, report_function, "group_threshold");
  check_count(arguments.integer("pairs_shown"), most_pairs_shown, report_function, "pairs_shown",
              "Give a number of pairs from 1 to %u.");
}

Parameters parameters_of(const NamedArguments &arguments, const char *key_type) {
  const char *tokens = arguments.optional_string("tokens");
  const bool all = arguments.is_null("sample"), any = arguments.is_null("group_threshold");
  Parameters parameters = {};
  parameters.add(TEXTOID, CStringGetTextDatum(arguments.string("query")));
  parameters.add(FLOAT8ARRAYOID, PointerGetDatum(arguments.array("thresholds")));
  parameters.add(TEXTOID, CStringGetTextDatum(arguments.string("measure")));
  parameters.add(INT4OID, all ? 0 : Int32GetDatum(arguments.integer("sample")), all);
  parameters.add(INT8OID, Int64GetDatum(arguments.bigint("seed")));
  parameters.add(TEXTOID, tokens == nullptr ? 0 : CStringGetTextDatum(tokens), tokens == nullptr);
  parameters.add(INT4OID, Int32GetDatum(arguments.integer("pairs_shown")));
  parameters.add(FLOAT8OID, any ? 0 : Float8GetDatum(arguments.real("group_threshold")), any);
  parameters.add(TEXTOID, CStringGetTextDatum(key_type));
  return parameters;
}

// Runs a statement that returns a row, which is there until the connection to SPI ends.
void run_for_row(const char *statement, Parameters *parameters) {
  check_spi(SPI_execute_with_args(statement, parameters->count, parameters->types, parameters->values,
                                  parameters->nulls, true, 0));
  if (SPI_processed != 1) elog(ERROR, "%s: a statement returned no row", report_function);
}

// Returns a column of that row.
Datum column(int number, bool *isnull) {
  return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, isnull);
}

struct ReportData {
  const char *json;
  ArrayType *ids;  // of rows that are shown
};

// `key` is the name of the keys' type, or nullptr where they are integers.
ReportData read_data(Parameters parameters, const char *schema, const char *key, bool has_tokens) {
  const char *as_key = key == nullptr ? "" : psprintf(", key => NULL::%s", key);
  const char *tokens = has_tokens ? psprintf(", tokens => $6::%s.tokenizer", schema) : "";
  MemoryContext context = CurrentMemoryContext;
  connect_spi();
  run_for_row(profile_statement(schema, as_key, tokens), &parameters);
  bool isnull;
  const Datum profile = column(1, &isnull);
  parameters.add(JSONBOID, profile, isnull);
  run_for_row(data_statement(schema, as_key, tokens), &parameters);
  const Datum json = column(1, &isnull), ids = column(2, &isnull);
  MemoryContext spi = MemoryContextSwitchTo(context);
  const ReportData data = {TextDatumGetCString(json), DatumGetArrayTypePCopy(ids)};
  MemoryContextSwitchTo(spi);
  SPI_finish();
  return data;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_report);
Datum simjoin_similarity_report(PG_FUNCTION_ARGS) {
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(report_function, {"sample", "key", "tokens", "group_threshold"});
  check_arguments(arguments);
  // The other functions are where this one is.
  const char *schema = quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
  Oid key = arguments.type("key");
  if (!OidIsValid(key)) key = INT8OID;
  const char *shown_type = get_typtype(key) == TYPTYPE_PSEUDO ? "text" : format_type_be(key);
  const ReportData data =
      read_data(parameters_of(arguments, shown_type), schema,
                is_id_type(key) ? nullptr : format_type_be_qualified(key), !arguments.is_null("tokens"));
  StringInfoData json, page;
  initStringInfo(&json);
  appendStringInfo(&json, "{\"data\":%s,", data.json);
  append_row_texts(arguments.string("query"), data.ids, report_function, &json);
  appendStringInfoChar(&json, '}');
  initStringInfo(&page);
  append_page(json.data, &page);
  PG_RETURN_TEXT_P(cstring_to_text_with_len(page.data, page.len));
}
}

}  // namespace simjoin::pg
