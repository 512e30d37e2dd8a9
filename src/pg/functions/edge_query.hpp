// The edges and nodes of a graph, from queries.
#pragma once

#include "pg/base/pg.hpp"

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

// Runs the query, which must return (a bigint, b bigint) or (a bigint, b bigint, weight float8), with the
// caller's rights and snapshot, and hands each row over. Errors, naming `function`: other columns, a NULL,
// whatever the sink throws, a query that writes.
void read_edges(const char *query, EdgeSink *sink, const char *function);

// As read_edges, with one column (node bigint).
void read_nodes(const char *query, EdgeSink *sink, const char *function);

}  // namespace simjoin::pg
