#include "pg/functions/edge_query.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
}

#include "pg/base/errors.hpp"
#include "pg/base/query_source.hpp"

namespace simjoin::pg {
namespace {

// Returns a column's value. Errors where it is NULL.
Datum value_of(const QueryRow &row, int column) {
  Datum value;
  if (!row.get(column, &value))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a NULL in column %d", row.function, column + 1),
                    errhint("Leave such rows out with WHERE ... IS NOT NULL.")));
  return value;
}

int64 node_of(const QueryRow &row, int column) {
  return id_of(value_of(row, column), row.types[column]);
}

double number_of(const QueryRow &row, int column) {
  const Datum value = value_of(row, column);
  switch (row.types[column]) {
    case FLOAT4OID:
      return DatumGetFloat4(value);
    case FLOAT8OID:
      return DatumGetFloat8(value);
    case NUMERICOID:
      return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
  }
  return static_cast<double>(id_of(value, row.types[column]));
}

struct EdgeReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  EdgeSink *sink;
  bool weighted;
};

void EdgeReader::start(TupleDesc columns) {
  const bool has_weights = has_columns(columns, {ColumnKind::id, ColumnKind::id, ColumnKind::number});
  weighted = has_weights && sink->takes_weights();
  if (has_weights || has_columns(columns, {ColumnKind::id, ColumnKind::id})) return;
  raise_columns(columns, function,
                "a query for edges must return two nodes (smallint, integer or bigint), and may return a "
                "weight (a number)",
                "Name the columns, as in SELECT a, b, weight FROM edges.");
}

void EdgeReader::take(const QueryRow &row) {
  const int64 from = node_of(row, 0), to = node_of(row, 1);
  if (weighted) {
    const double weight = number_of(row, 2);
    call_cpp([&] { sink->add_weighted_edge(from, to, weight); });
  } else {
    call_cpp([&] { sink->add_edge(from, to); });
  }
  sink->make_room();
}

struct NodeReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  EdgeSink *sink;
};

void NodeReader::start(TupleDesc columns) {
  if (has_columns(columns, {ColumnKind::id})) return;
  raise_columns(columns, function, "a query for nodes must return one column (smallint, integer or bigint)",
                "Name the column, as in SELECT id FROM documents.");
}

void NodeReader::take(const QueryRow &row) {
  const int64 node = node_of(row, 0);
  call_cpp([&] { sink->add_node(node); });
  sink->make_room();
}

}  // namespace

void read_edges(const char *query, EdgeSink *sink, const char *function) {
  EdgeReader reader = {function, sink, false};
  read_query(query, &reader, function);
}

void read_nodes(const char *query, EdgeSink *sink, const char *function) {
  NodeReader reader = {function, sink};
  read_query(query, &reader, function);
}

}  // namespace simjoin::pg
