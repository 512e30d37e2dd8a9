#include "pg/clusters/cluster_documents.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include "pg/base/arguments.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/gpu_notices.hpp"
#include "pg/base/query_source.hpp"
#include "pg/base/row_columns.hpp"
#include "pg/base/row_context.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/steps.hpp"
#include "pg/base/terms.hpp"
#include "pg/base/watch.hpp"
#include "pg/base/weights.hpp"

namespace simjoin::pg {
namespace {

// Takes the documents of a query.
struct DocumentReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  Clustering *clustering;
  GrowingArray<int64> ids;  // of the round's documents
};

void DocumentReader::start(TupleDesc columns) {
  const char *function = clustering->function;
  const TokenType type =
      check_weighted_columns(columns, {function, clustering->keys, "key"}, nullptr).token_type;
  if (clustering->is_stream && type != clustering->term_type)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s: the terms of the query are of type %s, those of the stream of type %s",
                           function, format_type_be(array_type_of(type)),
                           format_type_be(array_type_of(clustering->term_type))),
                    errhint("Cast the terms of the query.")));
  clustering->term_type = type;
}

// Clusters the documents that wait and returns them.
void finish_round(DocumentReader *reader) {
  const Clustering &clustering = *reader->clustering;
  DocumentClusters *clusters = clustering.clusters;
  if (clusters->size() == 0) return;
  run_to_end(clusters);
  for (size_t i = 0; i < clusters->size(); ++i) {
    CHECK_FOR_INTERRUPTS();
    const ClusteredDocument &document = (*clusters)[i];
    const Datum similarity = Float8GetDatum(similarity_value(document.similarity));
    clustering.result->add({key_at(clustering.keys, reader->ids[i], 0),
                            Int64GetDatum(cluster_number(clustering, document.cluster)),
                            document.similarity == 0 ? ResultValue(nullptr) : ResultValue(similarity)});
  }
  clusters->clear();
  reader->ids.clear();
}

void add_terms(const Clustering &clustering, Datum terms, Datum weights) {
  DocumentClusters *clusters = clustering.clusters;
  const SetView set = view_set(terms, clustering.function);
  const float *view = view_weights(DatumGetArrayTypeP(weights), set, clustering.function);
  number_terms(&clusters->terms(), set, [&](uint32_t i, uint32_t id) { clusters->add_term(id, view[i]); });
}

void DocumentReader::take(const QueryRow &row) {
  DocumentClusters *clusters = clustering->clusters;
  ids.append(add_id(clustering->keys, row));
  Datum terms, weights;
  if (row.get(1, &terms) && row.get(2, &weights))
    in_row_context(clustering->row_context, [&] { add_terms(*clustering, terms, weights); });
  call_cpp([&] { clusters->end_document(); });
  if (clusters->full()) finish_round(this);
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
  return options;
}

}  // namespace

Clustering *start_clustering(FunctionCallInfo fcinfo, int first, ResultRows *result, const char *function) {
  const int key = first + 3;
  if (any_null(fcinfo, {key})) return nullptr;
  ClusterOptions options = options_of(fcinfo, first, function);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "clusters", ALLOCSET_DEFAULT_SIZES);
  auto *clustering = static_cast<Clustering *>(MemoryContextAllocZero(context, sizeof(Clustering)));
  clustering->function = function;
  clustering->context = context;
  clustering->row_context = AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES);
  clustering->result = result;
  clustering->keys = create_keys_as_they_come(fcinfo, key, result->column_type(0), function, context);
  options.memory_limit = memory_beside(clustering->keys);
  clustering->numbers = GrowingArray<int64>(context);
  prepare_gpu_use();
  clustering->clusters = own(context, [&] { return std::make_unique<DocumentClusters>(options); });
  return clustering;
}

int64 cluster_number(const Clustering &clustering, uint32_t cluster) {
  const GrowingArray<int64> &numbers = clustering.numbers;
  if (cluster < numbers.size()) return numbers[cluster];
  const int64 last = numbers.empty() ? 0 : numbers.back();
  return last + 1 + static_cast<int64>(cluster - numbers.size());
}

void cluster_query(Clustering *clustering, const char *query) {
  DocumentReader reader = {clustering, GrowingArray<int64>(clustering->context)};
  MemoryContext context = clustering->context;
  watch_computation(context, context, clustering->function, clustering->clusters, [](const void *work) {
    const auto *clusters = static_cast<const DocumentClusters *>(work);
    WatchFigures figures = figures_of(clusters->attempt());
    figures.memory_peak = clusters->memory_peak();
    return figures;
  });
  read_watched_query(query, &reader, clustering->function, context);
  note_work(context);
  finish_round(&reader);
  note_end(context);
  report_device(clustering->function, clustering->clusters->attempt());
  close_row_keys(clustering->keys);
}

}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_cluster_documents);
Datum simjoin_cluster_documents(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  Clustering *clustering = start_clustering(fcinfo, 1, &result, "cluster_documents");
  if (clustering == nullptr) return 0;
  cluster_query(clustering, string_argument(fcinfo, 0));
  MemoryContextDelete(clustering->context);
  return 0;
}
}
