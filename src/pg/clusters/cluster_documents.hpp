// Documents of a query on their way into clusters and back.
#pragma once

#include "pg/base/pg.hpp"

#include "core/clusters/document_clusters.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/query/row_keys.hpp"
#include "pg/rows/row_store.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// A clustering under way. Everything belongs to its context.
struct Clustering {
  const char *function;
  MemoryContext context;
  MemoryContext row_context;  // of one row, in or out
  ResultRows *result;         // of the call
  RowKeys *keys;              // of the documents
  DocumentClusters *clusters;
  TokenType term_type;  // of a stream, and of the documents once their columns are known
  bool is_stream;
  // The documents, with the clusters that they have joined, until it is known what becomes of these. nullptr
  // where clusters stay apart.
  RowStore *joined;
  // The numbers of the clusters that the call began with, ascending. The numbers of new clusters follow.
  GrowingArray<int64> numbers;
};

// Returns a clustering with the parameters of the call. Errors, naming `function`, where a parameter is not
// valid or NULL.
Clustering *start_clustering(const NamedArguments &arguments, ResultRows *result, const char *function);

// Returns the number by which a cluster is known to the user.
int64 cluster_number(const Clustering &clustering, uint32_t cluster);

// Runs the query, which must return (id, terms set, weights float4[]), with the caller's rights and
// snapshot, and adds (id, cluster, similarity) of each document to the result of the call.
void cluster_query(Clustering *clustering, const char *query);

}  // namespace simjoin::pg
