// tf_idf() and idf(): from bags and sets of terms to weighted terms.
#include "pg/base/pg.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>

#include "core/text/tf_idf.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/watch.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/query/row_columns.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/terms.hpp"

namespace simjoin::pg {
namespace {

// A call of one of the functions.
struct WeightCall {
  const char *function;
  TermWeight weight;
  TokenType kind;
  size_t max_terms;       // of each document
  const char *tokenizer;  // nullptr where the query returns terms
};

struct Bag {
  int64 id;
  bool isnull;  // its terms are NULL: it is no document
};

// Takes the documents of a query.
struct BagReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  WeightCall call;
  RowKeys *keys;
  TfIdf *collection;
  GrowingArray<Bag> bags;
  MemoryContext context, row_context;
  SetMaker *maker;  // nullptr where the query returns terms
};

void BagReader::start(TupleDesc columns) {
  TokenType type;
  if (call.weight == TermWeight::tf_idf) {
    type = check_row_columns(columns, {call.function, keys, "key"});
  } else {
    const SetColumn sets =
        check_set_column(columns, {call.function, keys, "key", true}, call.tokenizer, context);
    type = sets.token_type;
    maker = sets.maker;
  }
  if (type == call.kind) return;
  const char *name = format_type_be(array_type_of(type));
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the terms are of type %s, but %s was asked for", call.function, name,
                         format_type_be(array_type_of(call.kind))),
                  errhint("Add the argument NULL::%s%s.", name,
                          maker == nullptr ? ", or cast the terms" : " behind the query")));
}

void BagReader::take(const QueryRow &row) {
  Datum value;
  const bool isnull = !row.get(1, &value);
  bags.append({add_id(keys, row), isnull});
  if (isnull) return;
  in_row_context(row_context, [&] {
    const SetView set = view_set(maker == nullptr ? value : make_set(*maker, value), call.function);
    number_terms(&collection->terms(), set, [&](uint32_t, uint32_t term) { collection->add_term(term); });
  });
  call_cpp([&] { collection->end_document(); });
}

// Adds a document's row to the result: its heaviest terms and their weights.
void return_document(const BagReader &reader, int64 id, size_t document, ResultRows *result) {
  const TfIdf &collection = *reader.collection;
  const size_t count = collection.size(document);
  auto *scores = allocate<TermScore>(count);
  collection.score(document, scores);
  sort_interruptibly(
      scores, count, [&](const TermScore &a, const TermScore &b) { return collection.heavier(a, b); },
      [](const TermScore &) { return size_t{8}; });
  if (reader.call.weight == TermWeight::tf_idf) TfIdf::normalise(scores, count);
  const size_t returned = std::min(count, reader.call.max_terms);
  ArrayType *terms = make_term_array(collection.terms(), reader.call.kind, returned,
                                     [&](size_t i) { return scores[i].term; });
  const auto weights = make_array<float4>(returned);
  for (size_t i = 0; i < returned; ++i) weights.elements[i] = static_cast<float4>(scores[i].score);
  result->add({key_at(reader.keys, id, 0), PointerGetDatum(terms), weights.datum()});
}

void return_documents(const BagReader &reader, ResultRows *result) {
  size_t document = 0;
  for (const Bag &bag : reader.bags) {
    check_interrupts();
    if (bag.isnull)
      result->add({key_at(reader.keys, bag.id, 0), nullptr, nullptr});
    else
      in_row_context(reader.row_context, [&] { return_document(reader, bag.id, document++, result); });
  }
}

// Returns the type of the terms that the call asks for.
TokenType kind_of(const NamedArguments &arguments, const char *function) {
  return arguments.has("kind") ? kind_argument(arguments.type("kind"), function) : TokenType::text;
}

// Returns how many terms of each document the call asks for.
size_t max_terms_of(const NamedArguments &arguments) {
  if (arguments.is_null("max_terms")) return SIZE_MAX;
  const int32 most = arguments.integer("max_terms");
  check_count(most, INT_MAX, "tf_idf", "max_terms", "A document keeps at least 1 term; NULL keeps all.");
  return static_cast<size_t>(most);
}

// Returns the documents of the call's query with weights.
Datum weigh_query(FunctionCallInfo fcinfo, const char *function, TermWeight weight) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(function, {"kind", "max_terms", "key", "tokens"});
  const WeightCall call = {function, weight, kind_of(arguments, function), max_terms_of(arguments),
                           arguments.optional_string("tokens")};
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "weights of terms", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  RowKeys *keys = create_keys_as_they_come(arguments, result.column_type(0), call.function, context);
  const size_t limit = memory_beside(keys, memory_limit_of(context));
  BagReader reader = {call,
                      keys,
                      own(context, [&] { return std::make_unique<TfIdf>(call.weight, limit); }),
                      GrowingArray<Bag>(context),
                      context,
                      AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES),
                      nullptr};
  watch_computation(context, context, call.function, reader.collection, [](const void *collection) {
    WatchFigures figures;
    figures.memory_peak = static_cast<const TfIdf *>(collection)->memory_peak();
    return figures;
  });
  read_watched_query(arguments.string("query"), &reader, call.function, context);
  note_work(context);
  return_documents(reader, &result);
  note_end(context);
  close_row_keys(reader.keys);
  MemoryContextDelete(context);
  return 0;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_tf_idf);
Datum simjoin_tf_idf(PG_FUNCTION_ARGS) {
  return weigh_query(fcinfo, "tf_idf", TermWeight::tf_idf);
}

// What the script of 0.1.0 calls tf_idf() with a kind.
PG_FUNCTION_INFO_V1(simjoin_tf_idf_of_kind);
Datum simjoin_tf_idf_of_kind(PG_FUNCTION_ARGS) {
  return simjoin_tf_idf(fcinfo);
}

PG_FUNCTION_INFO_V1(simjoin_idf);
Datum simjoin_idf(PG_FUNCTION_ARGS) {
  return weigh_query(fcinfo, "idf", TermWeight::idf);
}

PG_FUNCTION_INFO_V1(simjoin_text_is_no_kind);
Datum simjoin_text_is_no_kind(PG_FUNCTION_ARGS) {
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the kind of terms is an array of their type, and not a text",
                         get_func_name(fcinfo->flinfo->fn_oid)),
                  errhint("Give literals and parameters their type, as in NULL::integer[] for terms that are "
                          "integers, or 20::integer for a number of terms.")));
  PG_RETURN_NULL();
}
}

}  // namespace simjoin::pg
