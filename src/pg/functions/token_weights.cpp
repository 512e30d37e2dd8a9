// Tables of the weights of tokens: token_weights() makes their rows, from the sets of a query, and
// idf_weights() reads what they have for the tokens of a set.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/params.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
}

#include <cstring>
#include <memory>

#include "core/base/memory.hpp"
#include "core/base/weight.hpp"
#include "core/text/terms.hpp"
#include "core/text/token_frequencies.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/computation/watch.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/query/row_columns.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/terms.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *weights_function = "token_weights";

// Takes the sets of a query.
struct TokenReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  TokenType kind;
  const char *tokenizer;  // nullptr where the query returns sets
  TokenFrequencies *counts;
  MemoryContext context, row_context;
  SetMaker *maker;  // nullptr where the query returns sets
};

void TokenReader::start(TupleDesc columns) {
  const SetColumn sets =
      check_set_column(columns, {weights_function, nullptr, nullptr, true}, tokenizer, context);
  maker = sets.maker;
  if (sets.token_type == kind) return;
  const char *name = format_type_be(array_type_of(sets.token_type));
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the tokens are of type %s, but %s was asked for", weights_function, name,
                         format_type_be(array_type_of(kind))),
                  errhint("Add the argument NULL::%s behind the query.", name)));
}

void TokenReader::take(const QueryRow &row) {
  Datum value;
  row.id();
  if (!row.get(1, &value)) return;
  in_row_context(row_context, [&] {
    const SetView set = view_set(maker == nullptr ? value : make_set(*maker, value), weights_function);
    number_terms(&counts->terms(), set, [&](uint32_t, uint32_t term) { counts->add(term); });
  });
  counts->end_set();
}

void return_tokens(const TokenReader &reader, ResultRows *result) {
  const TermTable &terms = reader.counts->terms();
  return_rows(terms.size(), [&](size_t i) {
    const auto term = static_cast<uint32_t>(i);
    const uint32_t with = reader.counts->sets_with(term);
    in_row_context(reader.row_context, [&] {
      result->add({term_datum(terms, reader.kind, term), Int64GetDatum(with),
                   Float4GetDatum(reader.counts->weight(with))});
    });
  });
  result->add({nullptr, Int64GetDatum(0), Float4GetDatum(reader.counts->weight(0))});
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_token_weights);
Datum simjoin_token_weights(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(weights_function, {"kind", "tokens"});
  const TokenType kind =
      arguments.has("kind") ? kind_argument(arguments.type("kind"), weights_function) : TokenType::text;
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "weights of tokens", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  const size_t limit = memory_limit_of(context);
  TokenReader reader = {kind,
                        arguments.optional_string("tokens"),
                        own(context, [limit] { return std::make_unique<TokenFrequencies>(limit); }),
                        context,
                        AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES),
                        nullptr};
  watch_computation(context, context, weights_function, reader.counts, [](const void *counts) {
    WatchFigures figures;
    figures.memory_peak = static_cast<const TokenFrequencies *>(counts)->memory_peak();
    return figures;
  });
  read_watched_query(arguments.string("query"), &reader, weights_function, context);
  note_work(context);
  return_tokens(reader, &result);
  note_end(context);
  MemoryContextDelete(context);
  return 0;
}
}

namespace {

constexpr const char *lookup_function = "idf_weights";
// A table of five million tokens, about.
constexpr size_t asked_memory = size_t{256} << 20;

// The weights of a table's tokens, or of those that were asked for.
struct KnownWeights {
  explicit KnownWeights(size_t memory_limit) : terms(memory), weights(memory) {
    memory.set_limit(memory_limit,
                     {"the weights of tokens need",
                      "leave tokens out of their table: they weigh as the row without a token"});
  }

  MemoryCounter memory;
  TermTable terms;
  Buffer<float> weights;  // by id
  float other = 0;        // the weight of all other tokens
  bool has_other = false;
};

// What a call looks into, as long as it sees the same rows.
struct WeightLookup {
  Oid table;
  Oid user;
  TokenType type;
  Snapshot seen;  // its fields that say which rows are visible
  bool complete;  // all weights of the table are known
  KnownWeights *known;
  MemoryContext context;  // of all this
};

// Takes the rows of the table.
struct WeightReader {
  void start(TupleDesc columns) const;
  void take(const QueryRow &row);

  TokenType type;
  KnownWeights *known;
};

// Errors unless the table has tokens of the type.
void check_token_column(Oid table, TokenType type) {
  const AttrNumber column = get_attnum(table, "token");
  const Oid token = get_element_type(array_type_of(type));
  if (column != InvalidAttrNumber && getBaseType(get_atttype(table, column)) == token) return;
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("%s: the table has no column token of type %s", lookup_function, format_type_be(token)),
           errhint("Make it by CREATE MATERIALIZED VIEW ... AS SELECT * FROM token_weights(...), from sets "
                   "of the same type.")));
}

void WeightReader::start(TupleDesc columns) const {
  if (is_of_kind(TupleDescAttr(columns, 1)->atttypid, ColumnKind::number)) return;
  raise_columns(columns, lookup_function, "the column weight of the table must be a number",
                "Make the table by CREATE MATERIALIZED VIEW ... AS SELECT * FROM token_weights(...).");
}

void WeightReader::take(const QueryRow &row) {
  const auto weight = static_cast<float>(row.number(1));
  if (!is_weight(weight))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("%s: a weight of the table is %g", lookup_function, static_cast<double>(weight)),
                    errhint("Weights are finite numbers that are not negative.")));
  Datum token;
  const bool named = row.get(0, &token);
  const text *bytes = named && type == TokenType::text ? DatumGetTextPP(token) : nullptr;
  const bool repeated = call_cpp([&] {
    if (!named) return std::exchange(known->has_other, true);
    const uint32_t id =
        bytes != nullptr ? known->terms.id_of(std::string_view(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)))
                         : known->terms.id_of(id_of(token, row.types[0]));
    if (id < known->weights.size()) return true;
    known->weights.push_back(weight);
    return false;
  });
  if (!named) known->other = weight;
  if (repeated)
    ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                    errmsg("%s: the table has two weights of a token", lookup_function),
                    errhint("Make a unique index on its column token.")));
}

bool same_numbers(const TransactionId *a, const TransactionId *b, size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(TransactionId)) == 0;
}

// Returns how many subtransactions a snapshot names. PostgreSQL's copy of one that could not hold them all
// has a number, but no array, except during recovery.
size_t named_subtransactions(Snapshot snapshot) {
  const bool named = !snapshot->suboverflowed || snapshot->takenDuringRecovery;
  return named ? static_cast<size_t>(snapshot->subxcnt) : 0;
}

// Returns whether the rows that two snapshots see are the same.
bool see_the_same(Snapshot a, Snapshot b) {
  return a->xmin == b->xmin && a->xmax == b->xmax && a->curcid == b->curcid && a->xcnt == b->xcnt &&
         a->subxcnt == b->subxcnt && a->suboverflowed == b->suboverflowed &&
         a->takenDuringRecovery == b->takenDuringRecovery && same_numbers(a->xip, b->xip, a->xcnt) &&
         same_numbers(a->subxip, b->subxip, named_subtransactions(a));
}

TransactionId *copy_of(const TransactionId *numbers, size_t count) {
  auto *copy = allocate<TransactionId>(count);
  if (count > 0) std::memcpy(copy, numbers, count * sizeof(TransactionId));
  return copy;
}

// Returns a copy of what see_the_same() looks at.
Snapshot copy_of(Snapshot snapshot) {
  auto *copy = static_cast<Snapshot>(palloc0(sizeof(SnapshotData)));
  *copy = *snapshot;
  copy->xip = copy_of(snapshot->xip, snapshot->xcnt);
  copy->subxip = copy_of(snapshot->subxip, named_subtransactions(snapshot));
  return copy;
}

// Makes a lookup without weights in a context of its own.
WeightLookup *create_lookup(Oid table, TokenType type, MemoryContext parent) {
  MemoryContext context = AllocSetContextCreate(parent, "weights of tokens", ALLOCSET_SMALL_SIZES);
  MemoryContext old = MemoryContextSwitchTo(context);
  auto *lookup = static_cast<WeightLookup *>(palloc0(sizeof(WeightLookup)));
  lookup->table = table;
  lookup->user = GetUserId();
  lookup->type = type;
  lookup->seen = copy_of(GetActiveSnapshot());
  lookup->context = context;
  const size_t limit = memory_limit_of(context, asked_memory);
  lookup->known = own(context, [limit] { return std::make_unique<KnownWeights>(limit); });
  MemoryContextSwitchTo(old);
  return lookup;
}

// Reads the weights of a set's tokens. A call that comes again reads all of the table.
void read_some(WeightLookup *lookup, Datum tokens) {
  ParamListInfo parameters = makeParamList(1);
  parameters->params[0] = {tokens, false, PARAM_FLAG_CONST, array_type_of(lookup->type)};
  WeightReader reader = {lookup->type, lookup->known};
  read_query(psprintf("SELECT token, weight FROM %s WHERE token OPERATOR(pg_catalog.=) ANY ($1) "
                      "OR token IS NULL",
                      relation_name(lookup->table)),
             &reader, lookup_function, parameters);
}

void read_all(WeightLookup *lookup) {
  WeightReader reader = {lookup->type, lookup->known};
  read_query(psprintf("SELECT token, weight FROM %s", relation_name(lookup->table)), &reader,
             lookup_function);
  lookup->complete = true;
}

// Returns the lookup of a call, which has the weights of the set.
WeightLookup *lookup_of(FunctionCallInfo fcinfo, TokenType type) {
  auto *lookup = static_cast<WeightLookup *>(fcinfo->flinfo->fn_extra);
  const Oid table = PG_GETARG_OID(1);
  bool again = false;
  if (lookup != nullptr) {
    again = lookup->table == table && lookup->user == GetUserId() && lookup->type == type &&
            see_the_same(lookup->seen, GetActiveSnapshot());
    if (again && lookup->complete) return lookup;
    fcinfo->flinfo->fn_extra = nullptr;
    MemoryContextDelete(lookup->context);
  }
  check_token_column(table, type);
  lookup = create_lookup(table, type, fcinfo->flinfo->fn_mcxt);
  if (again)
    read_all(lookup);
  else
    read_some(lookup, PG_GETARG_DATUM(0));
  fcinfo->flinfo->fn_extra = lookup;
  return lookup;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_idf_weights);
Datum simjoin_idf_weights(PG_FUNCTION_ARGS) {
  const SetView set = view_set(PG_GETARG_DATUM(0), lookup_function);
  const KnownWeights &known = *lookup_of(fcinfo, set.type)->known;
  const auto weights = make_array<float4>(set.count);
  bool missing = false;
  TokenCursor tokens(set);
  for (uint32_t i = 0; i < set.count; ++i) {
    if (i % token_block == 0) check_interrupts();
    const uint32_t id = tokens.next([&](auto token) { return known.terms.known_id(token); });
    missing |= id == TermTable::no_id;
    weights.elements[i] = id == TermTable::no_id ? known.other : known.weights[id];
  }
  if (missing && !known.has_other)
    ereport(ERROR, (errcode(ERRCODE_NO_DATA_FOUND),
                    errmsg("%s: the table has no weight of a token", lookup_function),
                    errhint("Give it a row whose token is NULL, with the weight of all others, as "
                            "token_weights() does.")));
  free_view(set, PG_GETARG_DATUM(0));
  return weights.datum();
}
}

}  // namespace simjoin::pg
