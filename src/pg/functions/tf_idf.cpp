// tf_idf(): from bags of terms to weighted terms.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

#include <algorithm>

#include "core/text/tf_idf.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/query_receiver.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/terms.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "tf_idf";
constexpr size_t first_capacity = 1024;

struct Row {
  int64 id;
  bool isnull;  // its terms; it is no document then
};

// Takes the documents of a query from the executor.
struct BagReceiver {
  DestReceiver receiver;
  bool started;
  TokenType kind;
  Oid id_type;
  TfIdf *collection;
  Row *rows;
  size_t count;
  size_t capacity;
};

BagReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<BagReceiver *>(self);
}

void start_bags(DestReceiver *self, int, TupleDesc columns) {
  BagReceiver *receiver = receiver_of(self);
  check_single_statement(&receiver->started, function);
  TokenType type;
  check_row_columns(columns, function, &receiver->id_type, &type);
  if (type == receiver->kind) return;
  const char *name = format_type_be(array_type_of(type));
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the query returns terms of type %s, where %s was asked for", function, name,
                         format_type_be(array_type_of(receiver->kind))),
                  errhint("Add the argument NULL::%s, or cast the terms.", name)));
}

bool receive_bag(TupleTableSlot *slot, DestReceiver *self) {
  BagReceiver *receiver = receiver_of(self);
  TfIdf *collection = receiver->collection;
  bool id_isnull, isnull;
  const Datum id = slot_getattr(slot, 1, &id_isnull);
  const Datum terms = slot_getattr(slot, 2, &isnull);
  if (id_isnull) raise_null_id(function);
  make_room(&receiver->rows, receiver->count, &receiver->capacity);
  receiver->rows[receiver->count++] = {id_of(id, receiver->id_type), isnull};
  if (isnull) return true;
  const SetView set = view_set(terms, function);
  number_terms(&collection->terms(), set, [&](uint32_t, uint32_t term) { collection->add_term(term); });
  call_cpp([&] { collection->end_document(); });
  free_view(set, terms);
  return true;
}

// Sets the values of a document's row, (terms, weights): its heaviest terms.
void weigh_document(const BagReceiver &receiver, size_t document, size_t max_terms, Datum *values) {
  const TfIdf &collection = *receiver.collection;
  const size_t count = collection.size(document);
  auto *scores = allocate<TermScore>(count);
  collection.score(document, scores);
  sort_interruptibly(
      scores, count, [&](const TermScore &a, const TermScore &b) { return collection.heavier(a, b); },
      [](const TermScore &) { return size_t{8}; });
  TfIdf::normalise(scores, count);
  const size_t returned = std::min(count, max_terms);
  values[0] = PointerGetDatum(
      make_term_array(collection.terms(), receiver.kind, returned, [&](size_t i) { return scores[i].term; }));
  auto *weights = allocate<Datum>(returned);
  for (size_t i = 0; i < returned; ++i) weights[i] = Float4GetDatum(static_cast<float4>(scores[i].score));
  values[1] = PointerGetDatum(
      construct_array(weights, static_cast<int>(returned), FLOAT4OID, sizeof(float4), true, TYPALIGN_INT));
}

void return_documents(const BagReceiver &receiver, size_t max_terms, ReturnSetInfo *result,
                      MemoryContext row_context) {
  size_t document = 0;
  for (size_t i = 0; i < receiver.count; ++i) {
    CHECK_FOR_INTERRUPTS();
    const Row &row = receiver.rows[i];
    Datum values[] = {Int64GetDatum(row.id), 0, 0};
    bool nulls[] = {false, row.isnull, row.isnull};
    MemoryContext caller = MemoryContextSwitchTo(row_context);
    if (!row.isnull) weigh_document(receiver, document++, max_terms, values + 1);
    MemoryContextSwitchTo(caller);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    MemoryContextReset(row_context);
  }
}

// Returns how many terms of each document the call asks for.
size_t max_terms_argument(FunctionCallInfo fcinfo, int number) {
  if (PG_ARGISNULL(number)) return SIZE_MAX;
  const int32 most = PG_GETARG_INT32(number);
  check_count(most, INT_MAX, function, "max_terms", "A document keeps at least 1 term; NULL keeps all.");
  return static_cast<size_t>(most);
}

// Returns the documents of the call's query, the first argument, with weights.
Datum weigh_query(FunctionCallInfo fcinfo, TokenType kind, size_t max_terms) {
  compat::begin_materialized_result(fcinfo);
  if (PG_ARGISNULL(0)) return 0;
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "tf_idf", ALLOCSET_DEFAULT_SIZES);
  BagReceiver receiver = {};
  receiver.receiver.rStartup = start_bags;
  receiver.receiver.receiveSlot = receive_bag;
  receiver.kind = kind;
  receiver.capacity = first_capacity;
  receiver.rows = static_cast<Row *>(MemoryContextAlloc(context, first_capacity * sizeof(Row)));
  receiver.collection = own(context, [] { return std::make_unique<TfIdf>(Settings::memory_limit()); });
  run_query(string_argument(fcinfo, 0), &receiver.receiver, function);
  return_documents(receiver, max_terms, reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo),
                   AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES));
  MemoryContextDelete(context);
  return 0;
}

}  // namespace
}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_tf_idf);
Datum simjoin_tf_idf(PG_FUNCTION_ARGS) {
  return weigh_query(fcinfo, TokenType::text, max_terms_argument(fcinfo, 1));
}

PG_FUNCTION_INFO_V1(simjoin_tf_idf_of_kind);
Datum simjoin_tf_idf_of_kind(PG_FUNCTION_ARGS) {
  const TokenType kind = kind_argument(fcinfo, 1, function);
  return weigh_query(fcinfo, kind, max_terms_argument(fcinfo, 2));
}
}
