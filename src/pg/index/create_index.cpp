// Indexes on sets, with the order of tokens that suits a table.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <memory>
#include <string_view>

#include "core/lookup/token_order.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/computation/watch.hpp"
#include "pg/index/index_options.hpp"
#include "pg/query/query_source.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

constexpr std::string_view class_names[] = {"int4_similarity_ops", "int8_similarity_ops",
                                            "text_similarity_ops"};

// Counts the tokens of a query's sets.
struct TokenReader {
  void start(TupleDesc columns) {
    if (!has_columns(columns, {ColumnKind::set})) raise_tokens(columns);
    token_type_of(TupleDescAttr(columns, 0)->atttypid, &type);
  }
  void take(const QueryRow &row) {
    Datum array;
    if (!row.get(0, &array)) return;
    const SetView set = view_set(array, function);
    for_token_blocks(set, [&](auto tokens) { call_cpp([&] { counts->add(tokens); }); });
    free_view(set, array);
  }

  // Errors: the query, or the expression that it was made of, is no set.
  [[noreturn]] void raise_tokens(TupleDesc columns) const {
    if (expression == nullptr)
      raise_columns(columns, function,
                    "the query must return one column of type integer[], bigint[] or text[]",
                    "Write the query as SELECT tokens FROM ...");
    const bool text =
        columns->natts == 1 && TypeCategory(TupleDescAttr(columns, 0)->atttypid) == TYPCATEGORY_STRING;
    raise_columns(columns, function, "the indexed expression must be of type integer[], bigint[] or text[]",
                  text ? psprintf("Index a set of the text, as in 'shingles(%s)', and search by the same "
                                  "expression.",
                                  expression)
                       : "Name the column with the sets, or write an expression that makes a set.");
  }

  const char *function;
  const char *expression;  // that the query selects; NULL where the query is the caller's
  TokenCounts *counts;
  TokenType type;
};

// What counting the tokens of a table tells of an index on them.
struct CountedTokens {
  TokenType type;
  char *frequent;  // the parameter
  int bits;        // of entries, where the index has all tokens
};

// Counts the tokens of the sets of the query. `expression` is what the query selects, NULL where the query is
// the caller's.
CountedTokens count_tokens(const char *query, const char *expression, const char *function) {
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "token counts", ALLOCSET_DEFAULT_SIZES);
  TokenReader reader = {
      function, expression, own(context, [] { return std::make_unique<TokenCounts>(); }), {}};
  watch_computation(context, context, function, nullptr, [](const void *) { return WatchFigures{}; });
  read_watched_query(query, &reader, function, context);
  note_end(context);
  const int bits = reader.counts->entry_bits();
  char *frequent = frequent_parameter(reader.counts);
  MemoryContextDelete(context);
  return {reader.type, frequent, bits};
}

// Executes a statement with the literal `frequent`, of some thousand characters, which an error does not
// show.
void create_index(const char *statement, const char *frequent) {
  MemoryContext context = CurrentMemoryContext;
  PG_TRY();
  { execute_statement(statement); }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    char *literal = error->context == nullptr ? nullptr : strstr(error->context, frequent);
    if (literal != nullptr) {
      *literal = '\0';
      error->context = psprintf("%s'...'%s", error->context, literal + strlen(frequent));
    }
    ReThrowError(error);
  }
  PG_END_TRY();
}

// Returns a double as SQL has it.
char *double_literal(double value) {
  return DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(value)));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_index_tokens);
Datum simjoin_similarity_index_tokens(PG_FUNCTION_ARGS) {
  constexpr const char *function = "similarity_index_tokens";
  NamedArguments(fcinfo).refuse_null(function, {});
  const CountedTokens counted = count_tokens(string_argument(fcinfo, 0), nullptr, function);
  PG_RETURN_TEXT_P(cstring_to_text(counted.frequent));
}

PG_FUNCTION_INFO_V1(simjoin_create_similarity_index);
Datum simjoin_create_similarity_index(PG_FUNCTION_ARGS) {
  constexpr const char *function = "create_similarity_index";
  NamedArguments(fcinfo).refuse_null(function, {});
  const Oid table = PG_GETARG_OID(0);
  const char *tokens = string_argument(fcinfo, 1), *measure_name = string_argument(fcinfo, 3);
  const double threshold = PG_GETARG_FLOAT8(2);
  const Measure measure = index_measure_by_name(measure_name, function);
  check_similarity(threshold, measure, function);
  compat::check_owns(table, get_relkind_objtype(get_rel_relkind(table)));  // before its rows are read

  const char *name = relation_name(table);
  const CountedTokens counted = count_tokens(psprintf("SELECT (%s) FROM %s", tokens, name), tokens, function);
  const char *frequent = quote_literal_cstr(counted.frequent);
  const char *bits = measure == Measure::overlap && counted.bits < most_entry_bits
                         ? psprintf(", bits = %d", counted.bits)
                         : "";
  const Oid schema = get_rel_namespace(table);
  const char *index = ChooseRelationName(get_rel_name(table), nullptr, "similarity_idx", schema, true);
  // The operator classes are where this function is.
  const char *classes =
      quote_qualified_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)),
                                 class_names[static_cast<int>(counted.type)].data());
  create_index(
      psprintf("CREATE INDEX %s ON %s USING gin ((%s) %s (measure = %s, threshold = %s, frequent = %s%s))",
               quote_identifier(index), name, tokens, classes, quote_literal_cstr(measure_name),
               quote_literal_cstr(double_literal(threshold)), frequent, bits),
      frequent);
  const Oid made = get_relname_relid(index, schema);
  if (!OidIsValid(made)) elog(ERROR, "%s: index \"%s\" was not made", function, index);
  PG_RETURN_OID(made);
}
}

}  // namespace simjoin::pg
