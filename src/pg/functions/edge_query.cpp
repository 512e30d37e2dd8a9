#include "pg/functions/edge_query.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
}

#include "pg/base/errors.hpp"
#include "pg/base/query_receiver.hpp"

namespace simjoin::pg {
namespace {

// Takes the rows of a query from the executor.
struct EdgeReceiver {
  DestReceiver receiver;
  const char *function;
  const EdgeSink *sink;
  bool started;
  Oid types[3];
  bool weighted;
};

EdgeReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<EdgeReceiver *>(self);
}

bool is_number_type(Oid type) {
  return is_id_type(type) || type == FLOAT4OID || type == FLOAT8OID || type == NUMERICOID;
}

double number_of(Datum value, Oid type) {
  switch (type) {
    case FLOAT4OID:
      return DatumGetFloat4(value);
    case FLOAT8OID:
      return DatumGetFloat8(value);
    case NUMERICOID:
      return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
  }
  return static_cast<double>(id_of(value, type));
}

// Checks the columns of a query for edges.
void start_edges(DestReceiver *self, int, TupleDesc columns) {
  EdgeReceiver *receiver = receiver_of(self);
  check_single_statement(&receiver->started, receiver->function);
  bool valid = columns->natts == 2 || columns->natts == 3;
  for (int i = 0; valid && i < columns->natts; ++i) {
    receiver->types[i] = getBaseType(TupleDescAttr(columns, i)->atttypid);
    valid = i < 2 ? is_id_type(receiver->types[i]) : is_number_type(receiver->types[i]);
  }
  receiver->weighted = columns->natts == 3 && receiver->sink->add_weighted_edge != nullptr;
  if (valid) return;
  ereport(
      ERROR,
      (errcode(ERRCODE_DATATYPE_MISMATCH),
       errmsg("%s: a query for edges must return two nodes (smallint, integer or bigint), and may return a "
              "weight (a number)",
              receiver->function),
       errdetail("The query returns %s.", describe_columns(columns)),
       errhint("Name the columns, as in SELECT a, b, weight FROM edges.")));
}

// Checks the columns of a query for nodes.
void start_nodes(DestReceiver *self, int, TupleDesc columns) {
  EdgeReceiver *receiver = receiver_of(self);
  check_single_statement(&receiver->started, receiver->function);
  if (columns->natts == 1 && is_id_type(TupleDescAttr(columns, 0)->atttypid)) {
    receiver->types[0] = getBaseType(TupleDescAttr(columns, 0)->atttypid);
    return;
  }
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: a query for nodes must return one column (smallint, integer or bigint)",
                         receiver->function),
                  errdetail("The query returns %s.", describe_columns(columns)),
                  errhint("Name the column, as in SELECT id FROM documents.")));
}

// Returns a column's value. Errors where it is NULL.
Datum value_of(TupleTableSlot *slot, int column, const char *function) {
  bool isnull;
  const Datum value = slot_getattr(slot, column, &isnull);
  if (isnull)
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a NULL in column %d", function, column),
                    errhint("Leave such rows out with WHERE ... IS NOT NULL.")));
  return value;
}

void make_room(const EdgeSink &sink) {
  if (sink.is_full != nullptr && sink.is_full(sink.object)) sink.make_room(sink.object);
}

bool receive_edge(TupleTableSlot *slot, DestReceiver *self) {
  const EdgeReceiver *receiver = receiver_of(self);
  const EdgeSink *sink = receiver->sink;
  const int64 from = id_of(value_of(slot, 1, receiver->function), receiver->types[0]);
  const int64 to = id_of(value_of(slot, 2, receiver->function), receiver->types[1]);
  if (receiver->weighted) {
    const double weight = number_of(value_of(slot, 3, receiver->function), receiver->types[2]);
    call_cpp([&] { sink->add_weighted_edge(sink->object, from, to, weight); });
  } else {
    call_cpp([&] { sink->add_edge(sink->object, from, to); });
  }
  make_room(*sink);
  return true;
}

bool receive_node(TupleTableSlot *slot, DestReceiver *self) {
  const EdgeReceiver *receiver = receiver_of(self);
  const int64 node = id_of(value_of(slot, 1, receiver->function), receiver->types[0]);
  call_cpp([&] { receiver->sink->add_node(receiver->sink->object, node); });
  make_room(*receiver->sink);
  return true;
}

}  // namespace

void read_edges(const char *query, const EdgeSink &sink, const char *function) {
  EdgeReceiver receiver = {};
  receiver.receiver.rStartup = start_edges;
  receiver.receiver.receiveSlot = receive_edge;
  receiver.function = function;
  receiver.sink = &sink;
  run_query(query, &receiver.receiver, function);
}

void read_nodes(const char *query, const EdgeSink &sink, const char *function) {
  EdgeReceiver receiver = {};
  receiver.receiver.rStartup = start_nodes;
  receiver.receiver.receiveSlot = receive_node;
  receiver.function = function;
  receiver.sink = &sink;
  run_query(query, &receiver.receiver, function);
}

}  // namespace simjoin::pg
