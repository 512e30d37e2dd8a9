// The edges and nodes of a graph, from queries.
#pragma once

#include "pg/base/pg.hpp"

#include "core/base/memory.hpp"
#include "pg/query/row_keys.hpp"

namespace simjoin::pg {

// Who takes edges and nodes. The functions that add may throw C++ exceptions, and call nothing of PostgreSQL.
class EdgeSink {
 public:
  virtual void add_edge(int64 from, int64 to) = 0;
  virtual void add_node(int64 node) = 0;

  // Returns whether add_weighted_edge is called for edges that have a weight.
  virtual bool takes_weights() const { return false; }
  virtual void add_weighted_edge(int64 /*from*/, int64 /*to*/, double /*weight*/) {}

  // Called after each row. It may take long, and raise errors of PostgreSQL.
  virtual void make_room() {}
};

// The queries of a graph. Edges are rows (a, b) or (a, b, weight), nodes are rows (node).
struct GraphQueries {
  const char *function;
  const char *edges;
  const char *nodes;  // NULL where the graph has no other nodes
  bool need_weights = false;
  // Nodes of the call's own, after all others: of the type of the keys, or bigint.
  const Datum *own_nodes = nullptr;
  int own_node_count = 0;
};

// Runs the queries with the caller's rights and snapshot, and hands each row over. Nodes are integers where
// `keys` is nullptr. Otherwise they are of the type of the keys, and the sink gets their numbers, which are
// in the order of the keys: all rows are then read before the sink gets any, and wait in `memory`. What waits
// belongs to the context, which is also the key of the computation that is watched (watch.hpp). Errors,
// naming the function: other columns, a NULL, whatever the sink throws, a query that writes.
void read_graph(const GraphQueries &queries, RowKeys *keys, EdgeSink *sink, MemoryCounter *memory,
                MemoryContext context);

}  // namespace simjoin::pg
