// Documents of a query on their way into clusters and back.
#pragma once

#include "pg/base/pg.hpp"

#include "core/clusters/document_clusters.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/result_rows.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// A clustering under way; all of it belongs to its context.
struct Clustering {
  const char *function;
  MemoryContext context;
  MemoryContext row_context;  // of one row, in or out
  ResultRows *result;         // of the call
  DocumentClusters *clusters;
  TokenType term_type;  // of a stream, and of the documents once they are known
  bool is_stream;
  // The clusters that were there before have these numbers, ascending; the others follow.
  GrowingArray<int64> numbers;
};

// Returns a clustering with the parameters of the call, the first of which, the threshold, is argument
// `first`; max_terms and batch follow. Errors, naming `function`, where they are not valid.
Clustering *start_clustering(FunctionCallInfo fcinfo, int first, ResultRows *result, const char *function);

// Returns the number by which a cluster is known to the user.
int64 cluster_number(const Clustering &clustering, uint32_t cluster);

// Runs the query, which must return (id bigint, terms set, weights float4[]), with the caller's rights and
// snapshot, and adds (id, cluster, similarity) of each document to the result of the call.
void cluster_query(Clustering *clustering, const char *query);

}  // namespace simjoin::pg
