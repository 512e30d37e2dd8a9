#include "pg/functions/edge_query.hpp"

extern "C" {
#include "utils/builtins.h"
}

#include "pg/base/errors.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

// Edges and nodes whose keys have no numbers yet.
struct WaitingGraph {
  explicit WaitingGraph(MemoryCounter &memory) : numbers(memory), weights(memory) {}

  Buffer<int64_t> numbers;  // of both ends of each edge, then of each node
  Buffer<double> weights;   // of each edge, or empty
  size_t edges = 0;
  size_t nodes = 0;
};

// Hands an edge to the sink.
void add_edge(EdgeSink *sink, int64 from, int64 to, const double *weight) {
  call_cpp([&] {
    if (weight != nullptr) {
      sink->add_weighted_edge(from, to, *weight);
    } else {
      sink->add_edge(from, to);
    }
  });
  sink->make_room();
}

void add_node(EdgeSink *sink, int64 node) {
  call_cpp([&] { sink->add_node(node); });
  sink->make_room();
}

// Returns whether the columns are `nodes` nodes, and further ones of the given kinds.
bool has_nodes(TupleDesc columns, int nodes, std::initializer_list<ColumnKind> others, RowKeys *keys) {
  if (columns->natts != nodes + static_cast<int>(others.size())) return false;
  int column = nodes;
  for (const ColumnKind kind : others)
    if (!is_of_kind(TupleDescAttr(columns, column++)->atttypid, kind)) return false;
  for (int i = 0; i < nodes; ++i) {
    if (keys != nullptr) check_key_column(keys, TupleDescAttr(columns, i));
    if (keys == nullptr && !is_of_kind(TupleDescAttr(columns, i)->atttypid, ColumnKind::id)) return false;
  }
  return true;
}

// Returns the hint of an error about the columns of a query.
const char *hint_for_nodes(TupleDesc columns, const RowKeys *keys, const char *otherwise, bool own = false) {
  if (keys != nullptr || columns->natts == 0 ||
      is_of_kind(TupleDescAttr(columns, 0)->atttypid, ColumnKind::number))
    return otherwise;
  if (own)
    return psprintf("Give the ids of the call that type, as in $1::%s.",
                    format_type_be(TupleDescAttr(columns, 0)->atttypid));
  return psprintf("Tell the type of the nodes by the argument key, as in key => NULL::%s.",
                  format_type_be(TupleDescAttr(columns, 0)->atttypid));
}

struct EdgeReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  RowKeys *keys;
  EdgeSink *sink;         // of integers
  WaitingGraph *waiting;  // of keys, or nullptr
  bool need_weights;
  bool own_nodes;  // the call has nodes of its own
  bool weighted;
};

void EdgeReader::start(TupleDesc columns) {
  const bool has_weights = has_nodes(columns, 2, {ColumnKind::number}, keys);
  weighted = has_weights && sink->takes_weights();
  if (has_weights || (!need_weights && has_nodes(columns, 2, {}, keys))) return;
  if (need_weights)
    raise_columns(
        columns, function,
        keys == nullptr
            ? "a query for pairs must return two ids (smallint, integer or bigint) and a similarity "
              "(a number)"
            : "a query for pairs must return two ids and a similarity (a number)",
        hint_for_nodes(columns, keys, "Name the columns, as in SELECT a, b, similarity FROM pairs.",
                       own_nodes));
  raise_columns(columns, function,
                keys == nullptr
                    ? "a query for edges must return two nodes (smallint, integer or bigint), and may "
                      "return a weight (a number)"
                    : "a query for edges must return two nodes, and may return a weight (a number)",
                hint_for_nodes(columns, keys, "Name the columns, as in SELECT a, b, weight FROM edges."));
}

void EdgeReader::take(const QueryRow &row) {
  const Datum from = row.value(0), to = row.value(1);
  const double weight = weighted ? row.number(2) : 0;
  if (waiting == nullptr)
    return add_edge(sink, id_of(from, row.types[0]), id_of(to, row.types[1]), weighted ? &weight : nullptr);
  add_key(keys, from);
  add_key(keys, to);
  ++waiting->edges;
  if (weighted) call_cpp([&] { waiting->weights.push_back(weight); });
}

struct NodeReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  RowKeys *keys;
  EdgeSink *sink;         // of integers
  WaitingGraph *waiting;  // of keys, or nullptr
};

void NodeReader::start(TupleDesc columns) {
  if (has_nodes(columns, 1, {}, keys)) return;
  raise_columns(columns, function,
                keys == nullptr ? "a query for nodes must return one column (smallint, integer or bigint)"
                                : "a query for nodes must return one column",
                hint_for_nodes(columns, keys, "Name the column, as in SELECT id FROM documents."));
}

void NodeReader::take(const QueryRow &row) {
  const Datum node = row.value(0);
  if (waiting == nullptr) return add_node(sink, id_of(node, row.types[0]));
  add_key(keys, node);
  ++waiting->nodes;
}

void take_own_node(Datum node, RowKeys *keys, EdgeSink *sink, WaitingGraph *waiting) {
  if (waiting == nullptr) return add_node(sink, DatumGetInt64(node));
  add_key(keys, node);
  ++waiting->nodes;
}

// Hands edges and nodes to the sink, by the numbers of their keys.
void hand_over(WaitingGraph *waiting, RowKeys *keys, EdgeSink *sink) {
  call_cpp([&] { waiting->numbers.resize(2 * waiting->edges + waiting->nodes); });
  number_keys(keys, waiting->numbers.data());
  const int64_t *numbers = waiting->numbers.data();
  const double *weights = waiting->weights.empty() ? nullptr : waiting->weights.data();
  return_rows(waiting->edges, [&](size_t i) {
    add_edge(sink, numbers[2 * i], numbers[2 * i + 1], weights == nullptr ? nullptr : weights + i);
  });
  return_rows(waiting->nodes, [&](size_t i) { add_node(sink, numbers[2 * waiting->edges + i]); });
  waiting->numbers.release();
  waiting->weights.release();
}

}  // namespace

void read_graph(const GraphQueries &queries, RowKeys *keys, EdgeSink *sink, MemoryCounter *memory,
                MemoryContext context) {
  WaitingGraph *waiting = nullptr;
  if (!are_integers(keys)) waiting = own(context, [&] { return std::make_unique<WaitingGraph>(*memory); });
  EdgeReader edges = {queries.function,           keys, sink, waiting, queries.need_weights,
                      queries.own_node_count > 0, false};
  read_watched_query(queries.edges, &edges, queries.function, context);
  NodeReader nodes = {queries.function, keys, sink, waiting};
  if (queries.nodes != nullptr) read_watched_query(queries.nodes, &nodes, queries.function, context);
  for (int i = 0; i < queries.own_node_count; ++i) take_own_node(queries.own_nodes[i], keys, sink, waiting);
  if (waiting != nullptr) hand_over(waiting, keys, sink);
}

}  // namespace simjoin::pg
