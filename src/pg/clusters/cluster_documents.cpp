#include "pg/clusters/cluster_documents.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

#include <chrono>

#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/gpu_notices.hpp"
#include "pg/base/query_receiver.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/terms.hpp"
#include "pg/base/weights.hpp"

namespace simjoin::pg {
namespace {

constexpr std::chrono::microseconds step_budget{10'000};
constexpr size_t first_capacity = 1024;

// Takes the documents of a query from the executor.
struct DocumentReceiver {
  DestReceiver receiver;
  Clustering *clustering;
  bool started;
  Oid id_type;
  int64 *ids;  // of the round's documents
  size_t capacity;
};

DocumentReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<DocumentReceiver *>(self);
}

// Checks the query's columns.
void start_documents(DestReceiver *self, int, TupleDesc columns) {
  DocumentReceiver *receiver = receiver_of(self);
  Clustering *clustering = receiver->clustering;
  check_single_statement(&receiver->started, clustering->function);
  TokenType type;
  if (columns->natts != 3 || !is_id_type(TupleDescAttr(columns, 0)->atttypid) ||
      !token_type_of(TupleDescAttr(columns, 1)->atttypid, &type) ||
      getBaseType(TupleDescAttr(columns, 2)->atttypid) != FLOAT4ARRAYOID)
    ereport(
        ERROR,
        (errcode(ERRCODE_DATATYPE_MISMATCH),
         errmsg("%s: a query must return three columns, an id (smallint, integer or bigint), terms "
                "(integer[], bigint[] or text[]) and their weights (real[])",
                clustering->function),
         errdetail("The query returns %s.", describe_columns(columns)),
         errhint("Name the columns and cast where necessary, as in SELECT id, terms, weights::real[] FROM "
                 "documents ORDER BY id. The function tf_idf makes terms and weights.")));
  if (clustering->is_stream && type != clustering->term_type)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s: the terms of the query are of type %s, those of the stream of type %s",
                           clustering->function, format_type_be(array_type_of(type)),
                           format_type_be(array_type_of(clustering->term_type))),
                    errhint("Cast those of the query.")));
  receiver->id_type = getBaseType(TupleDescAttr(columns, 0)->atttypid);
  clustering->term_type = type;
}

void return_document(const Clustering &clustering, int64 id, const ClusteredDocument &document) {
  Datum values[] = {Int64GetDatum(id), Int64GetDatum(cluster_number(clustering, document.cluster)),
                    Float8GetDatum(similarity_value(document.similarity))};
  bool nulls[] = {false, false, document.similarity == 0};
  tuplestore_putvalues(clustering.result->setResult, clustering.result->setDesc, values, nulls);
}

// Clusters the documents that wait and returns them.
void finish_round(DocumentReceiver *receiver) {
  DocumentClusters *clusters = receiver->clustering->clusters;
  if (clusters->size() == 0) return;
  while (!call_cpp([&] { return clusters->step(step_budget); })) CHECK_FOR_INTERRUPTS();
  report_gpu_notice(call_cpp([&] { return GpuNotice(clusters->take_notice()); }));
  for (size_t i = 0; i < clusters->size(); ++i) {
    CHECK_FOR_INTERRUPTS();
    return_document(*receiver->clustering, receiver->ids[i], (*clusters)[i]);
  }
  clusters->clear();
}

void add_terms(DocumentReceiver *receiver, Datum terms, Datum weights) {
  DocumentClusters *clusters = receiver->clustering->clusters;
  const SetView set = view_set(terms, receiver->clustering->function);
  const float *view = view_weights(DatumGetArrayTypeP(weights), set, receiver->clustering->function);
  number_terms(&clusters->terms(), set, [&](uint32_t i, uint32_t id) { clusters->add_term(id, view[i]); });
}

bool receive_document(TupleTableSlot *slot, DestReceiver *self) {
  DocumentReceiver *receiver = receiver_of(self);
  DocumentClusters *clusters = receiver->clustering->clusters;
  bool id_isnull, terms_isnull, weights_isnull;
  const Datum id = slot_getattr(slot, 1, &id_isnull);
  const Datum terms = slot_getattr(slot, 2, &terms_isnull);
  const Datum weights = slot_getattr(slot, 3, &weights_isnull);
  if (id_isnull) raise_null_id(receiver->clustering->function);
  make_room(&receiver->ids, clusters->size(), &receiver->capacity);
  receiver->ids[clusters->size()] = id_of(id, receiver->id_type);
  MemoryContext caller = MemoryContextSwitchTo(receiver->clustering->row_context);
  if (!terms_isnull && !weights_isnull) add_terms(receiver, terms, weights);
  call_cpp([&] { clusters->end_document(); });
  MemoryContextReset(receiver->clustering->row_context);
  MemoryContextSwitchTo(caller);
  if (clusters->full()) finish_round(receiver);
  return true;
}

ClusterOptions options_of(FunctionCallInfo fcinfo, int first, const char *function) {
  ClusterOptions options;
  options.threshold = PG_GETARG_FLOAT8(first);
  check_share(options.threshold, function, "threshold");
  const int32 max_terms = PG_GETARG_INT32(first + 1), batch = PG_GETARG_INT32(first + 2);
  check_count(max_terms, max_centroid_terms, function, "max_terms", "A centroid has 1 to %u terms.");
  check_count(batch, INT_MAX, function, "batch", "A batch has at least 1 document.");
  options.max_terms = static_cast<uint32_t>(max_terms);
  options.batch = static_cast<uint32_t>(batch);
  Settings::set_resources(&options);
  options.memory_limit = Settings::memory_limit();
  return options;
}

}  // namespace

Clustering *start_clustering(FunctionCallInfo fcinfo, int first, const char *function) {
  const ClusterOptions options = options_of(fcinfo, first, function);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "clusters", ALLOCSET_DEFAULT_SIZES);
  auto *clustering = static_cast<Clustering *>(MemoryContextAllocZero(context, sizeof(Clustering)));
  clustering->function = function;
  clustering->context = context;
  clustering->row_context = AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES);
  clustering->result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  clustering->capacity = first_capacity;
  clustering->numbers = static_cast<int64 *>(MemoryContextAlloc(context, first_capacity * sizeof(int64)));
  prepare_gpu_use();
  clustering->clusters = own(context, [&] { return std::make_unique<DocumentClusters>(options); });
  return clustering;
}

int64 cluster_number(const Clustering &clustering, uint32_t cluster) {
  if (cluster < clustering.loaded) return clustering.numbers[cluster];
  const int64 last = clustering.loaded == 0 ? 0 : clustering.numbers[clustering.loaded - 1];
  return last + 1 + static_cast<int64>(cluster - clustering.loaded);
}

void cluster_query(Clustering *clustering, const char *query) {
  DocumentReceiver receiver = {};
  receiver.receiver.rStartup = start_documents;
  receiver.receiver.receiveSlot = receive_document;
  receiver.clustering = clustering;
  receiver.capacity = first_capacity;
  receiver.ids =
      static_cast<int64 *>(MemoryContextAlloc(clustering->context, first_capacity * sizeof(int64)));
  run_query(query, &receiver.receiver, clustering->function);
  finish_round(&receiver);
  report_device(clustering->function, clustering->clusters->use());
}

}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_cluster_documents);
Datum simjoin_cluster_documents(PG_FUNCTION_ARGS) {
  compat::begin_materialized_result(fcinfo);
  Clustering *clustering = start_clustering(fcinfo, 1, "cluster_documents");
  cluster_query(clustering, string_argument(fcinfo, 0));
  MemoryContextDelete(clustering->context);
  return 0;
}
}
