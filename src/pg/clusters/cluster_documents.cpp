#include "pg/clusters/cluster_documents.hpp"

extern "C" {
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include "core/base/memory_shares.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/gpu_notices.hpp"
#include "pg/computation/steps.hpp"
#include "pg/computation/watch.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/row_columns.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/terms.hpp"
#include "pg/sets/weights.hpp"

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

void return_document(const Clustering &clustering, int64 id, const ClusteredDocument &document) {
  const Datum similarity = Float8GetDatum(similarity_value(document.similarity));
  clustering.result->add({key_at(clustering.keys, id, 0),
                          Int64GetDatum(cluster_number(clustering, document.cluster)),
                          document.similarity == 0 ? ResultValue(nullptr) : ResultValue(similarity)});
}

// The columns of a document that waits.
enum JoinedColumn { Joined_id, Joined_cluster, Joined_similarity, Joined_Count };

RowStore *create_joined(MemoryContext context) {
  MemoryContext caller = MemoryContextSwitchTo(context);
  TupleDesc columns = CreateTemplateTupleDesc(Joined_Count);
  TupleDescInitEntry(columns, Joined_id + 1, "id", INT8OID, -1, 0);
  TupleDescInitEntry(columns, Joined_cluster + 1, "cluster", INT4OID, -1, 0);
  TupleDescInitEntry(columns, Joined_similarity + 1, "similarity", INT4OID, -1, 0);
  MemoryContextSwitchTo(caller);
  return create_row_store(context, columns, key_share(memory_limit_of(context)));
}

void keep_document(const Clustering &clustering, int64 id, const ClusteredDocument &document) {
  if (clustering.joined->rows == PG_UINT32_MAX)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("%s: there are more than %u documents", clustering.function, clustering.joined->rows)));
  Datum values[Joined_Count] = {Int64GetDatum(id), Int32GetDatum(static_cast<int32>(document.cluster)),
                                Int32GetDatum(static_cast<int32>(document.similarity))};
  bool nulls[Joined_Count] = {};
  append_row(clustering.joined, values, nulls);
}

// Returns the documents that wait, each with the cluster that its own was merged into.
void return_joined(const Clustering &clustering) {
  DocumentClusters *clusters = clustering.clusters;
  call_cpp([&] { clusters->settle(); });
  RowReader reader = {clustering.joined, nullptr, 0};
  return_rows(clustering.joined->rows, [&](size_t row) {
    Datum values[Joined_Count];
    bool nulls[Joined_Count];
    read_row(&reader, static_cast<uint32_t>(row), values, nulls);
    const auto cluster = static_cast<uint32_t>(DatumGetInt32(values[Joined_cluster]));
    const auto similarity = static_cast<uint32_t>(DatumGetInt32(values[Joined_similarity]));
    return_document(clustering, DatumGetInt64(values[Joined_id]),
                    {clusters->survivor_of(cluster), similarity});
  });
  close_row_store(clustering.joined);
}

// Clusters the documents that wait, and returns or keeps them.
void finish_round(DocumentReader *reader) {
  const Clustering &clustering = *reader->clustering;
  DocumentClusters *clusters = clustering.clusters;
  run_to_end(clusters);
  for (size_t i = 0; i < clusters->size(); ++i) {
    check_interrupts();
    if (clustering.joined == nullptr) {
      return_document(clustering, reader->ids[i], (*clusters)[i]);
    } else {
      keep_document(clustering, reader->ids[i], (*clusters)[i]);
    }
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

// Clusters what is left of the documents. Where the call has no later one that goes on, its last batch ends.
void finish_last_round(DocumentReader *reader) {
  const Clustering &clustering = *reader->clustering;
  const bool ends_batch = clustering.joined != nullptr && !clustering.is_stream;
  if (ends_batch) clustering.clusters->end_batch();
  if (ends_batch || clustering.clusters->size() > 0) finish_round(reader);
}

ClusterOptions options_of(const NamedArguments &arguments, bool merges, const char *function) {
  ClusterOptions options;
  options.threshold = arguments.real("threshold");
  check_share(options.threshold, function, "threshold");
  const int32 max_terms = arguments.integer("max_terms"), batch = arguments.integer("batch");
  check_count(max_terms, max_centroid_terms, function, "max_terms", "A centroid has 1 to %u terms.");
  check_count(batch, INT_MAX, function, "batch", "A batch has at least 1 document.");
  options.max_terms = static_cast<uint32_t>(max_terms);
  options.batch = static_cast<uint32_t>(batch);
  if (merges) {
    options.merge = arguments.real("merge");
    check_share(options.merge, function, "merge");
  }
  Settings::set_resources(&options);
  return options;
}

}  // namespace

Clustering *start_clustering(const NamedArguments &arguments, ResultRows *result, const char *function) {
  const bool merges = arguments.has("merge");
  // PostgreSQL takes a key that is given by its place for this argument.
  if (merges && arguments.is_null("merge"))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s: merge is NULL", function),
                    errhint("Leave it out if clusters should stay apart. Give the type of ids by name, as in "
                            "key => NULL::int.")));
  arguments.refuse_null(function, {"key"});
  ClusterOptions options = options_of(arguments, merges, function);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "clusters", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  auto *clustering = static_cast<Clustering *>(MemoryContextAllocZero(context, sizeof(Clustering)));
  clustering->function = function;
  clustering->context = context;
  clustering->row_context = AllocSetContextCreate(context, "row", ALLOCSET_DEFAULT_SIZES);
  clustering->result = result;
  clustering->keys = create_keys_as_they_come(arguments, result->column_type(0), function, context);
  options.memory_limit = memory_beside(clustering->keys, memory_limit_of(context));
  if (merges) {
    clustering->joined = create_joined(context);
    options.memory_limit -= key_share(memory_limit_of(context));
  }
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
  finish_last_round(&reader);
  if (clustering->joined != nullptr) return_joined(*clustering);
  note_end(context);
  report_device(clustering->function, clustering->clusters->attempt());
  close_row_keys(clustering->keys);
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_cluster_documents);
Datum simjoin_cluster_documents(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  Clustering *clustering = start_clustering(arguments, &result, "cluster_documents");
  cluster_query(clustering, arguments.string("query"));
  MemoryContextDelete(clustering->context);
  return 0;
}
}

}  // namespace simjoin::pg
