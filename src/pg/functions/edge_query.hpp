// The edges and nodes of a graph, from queries.
#pragma once

#include "pg/base/pg.hpp"

namespace simjoin::pg {

// Who takes edges and nodes: functions that may throw C++ exceptions and call nothing of PostgreSQL.
struct EdgeSink {
  void *object;
  void (*add_edge)(void *object, int64 from, int64 to);
  // Of edges whose query has a weight column; NULL where weights do not matter.
  void (*add_weighted_edge)(void *object, int64 from, int64 to, double weight);
  void (*add_node)(void *object, int64 node);
  // Where these are not NULL: whether the object has to make room before the next row, and what does that,
  // which may take long, and raise errors of PostgreSQL.
  bool (*is_full)(const void *object);
  void (*make_room)(void *object);
};

// Runs the query, which must return (a bigint, b bigint) or (a bigint, b bigint, weight float8), with the
// caller's rights and snapshot, and hands each row over. Errors, naming `function`: other columns, a NULL,
// whatever the sink throws, a query that writes.
void read_edges(const char *query, const EdgeSink &sink, const char *function);

// As read_edges, with one column (node bigint).
void read_nodes(const char *query, const EdgeSink &sink, const char *function);

}  // namespace simjoin::pg
