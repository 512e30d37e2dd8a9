// Queries of callers: their columns are checked, and each row goes to a reader.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "nodes/params.h"
#include "tcop/dest.h"
}

#include <initializer_list>

#include "pg/query/query_workers.hpp"

namespace simjoin::pg {

// What a column of a query holds.
enum class ColumnKind : uint8_t {
  id,      // smallint, integer, bigint or a domain over one of them
  number,  // such a type, real, double precision or numeric
  set,     // integer[], bigint[], text[]
  reals,   // real[]
};

// Returns whether values of the type are of the kind.
bool is_of_kind(Oid type, ColumnKind kind);

// Returns whether the query has these columns, and no others.
bool has_columns(TupleDesc columns, std::initializer_list<ColumnKind> kinds);

// Errors: the query's columns are not what `function` needs. `needs` is the message.
[[noreturn]] void raise_columns(TupleDesc columns, const char *function, const char *needs, const char *hint);

// A row of a query. Columns count from 0.
struct QueryRow {
  static constexpr int most_columns = 32;

  // Gives the column's value; returns false where it is NULL.
  bool get(int column, Datum *value) const;

  // Returns the column's value. Errors where it is NULL.
  Datum value(int column) const;

  // Returns a column of the kind number. Errors where it is NULL.
  double number(int column) const;

  // Returns a column that is an id. Errors where it is NULL.
  Datum key(int column = 0) const;
  // Returns the first column, of the kind id, as a bigint. Errors where it is NULL.
  int64 id() const;

  const char *function;  // for messages
  TupleTableSlot *slot;
  const Oid *types;      // the base types of the first `most_columns` columns
  bool has_set = false;  // in its second column, where the query returns a text: a worker has made it
};

// Returns a value of the kind id, which is of this base type, as a bigint.
int64 id_of(Datum value, Oid base_type);

// Returns whether ids can be of this type.
bool is_id_type(Oid type);

// A reader of a query's rows, as the executor sees it.
struct QueryReceiver {
  DestReceiver receiver;
  const char *function;
  void *reader;
  void (*start)(void *reader, TupleDesc columns);
  void (*take)(void *reader, const QueryRow &row);
  void (*take_packed)(void *reader, BlockReader *rows, const Oid *types);  // or nullptr
  bool started;
  const void *watched;  // the key of the computation that the rows are for (watch.hpp), or nullptr
  bool takes_blocks;    // rows may come in blocks, in any order that the query allows
  BlockQuery how;       // with blocks
  QueryBlocks blocks;
  Oid types[QueryRow::most_columns];
};

// Returns a receiver for the reader, which has two functions: start(TupleDesc) checks the columns, and
// take(const QueryRow &) takes a row. It may have a third, take_packed(BlockReader *, const Oid *types),
// which takes some of the next packed rows of a block, or none.
template <class Reader>
QueryReceiver receiver_for(Reader *reader, const char *function, const void *watched = nullptr) {
  QueryReceiver receiver = {};
  receiver.watched = watched;
  receiver.function = function;
  receiver.reader = reader;
  receiver.start = [](void *to, TupleDesc columns) { static_cast<Reader *>(to)->start(columns); };
  receiver.take = [](void *to, const QueryRow &row) { static_cast<Reader *>(to)->take(row); };
  if constexpr (requires { &Reader::take_packed; })
    receiver.take_packed = [](void *to, BlockReader *rows, const Oid *types) {
      static_cast<Reader *>(to)->take_packed(rows, types);
    };
  return receiver;
}

// Returns whether the text is a name, maybe with a schema and quotes, as of a table.
bool is_relation_name(const char *text);

// Makes a callback that gives syntax errors in the query a hint where it is a name and no query.
ErrorContextCallback hint_at_name(const char *query);

// Calls body(), which parses the query.
template <class Body>
void parse_query(const char *query, Body &&body) {
  ErrorContextCallback hint = hint_at_name(query);
  error_context_stack = &hint;
  body();
  error_context_stack = hint.previous;
}

// Runs a query with the caller's rights and in the active snapshot, and hands its rows to the receiver.
// `parameters` are the query's, or nullptr. Errors where the query writes, returns no rows, or is more than
// one statement.
void run_query(const char *query, QueryReceiver receiver, ParamListInfo parameters = nullptr);

// Runs a plan in the same way. It was prepared within the current connection to SPI.
void run_plan(SPIPlanPtr plan, QueryReceiver receiver, ParamListInfo parameters);

// Runs the query for the reader.
template <class Reader>
void read_query(const char *query, Reader *reader, const char *function, ParamListInfo parameters = nullptr) {
  run_query(query, receiver_for(reader, function), parameters);
}

// The same for a watched computation, which is told of each row and of how many are expected.
template <class Reader>
void read_watched_query(const char *query, Reader *reader, const char *function, const void *watched) {
  run_query(query, receiver_for(reader, function, watched));
}

// The same for a reader that wants no more of the order of rows than the query does, and whose take() does
// nothing that PostgreSQL forbids during a parallel operation, such as writing. Parallel workers may send
// rows in blocks. With a tokenizer, they also make the set of the text in the second column
// (QueryRow::has_set).
template <class Reader>
void read_blocks_of_query(const char *query, Reader *reader, const char *function, const void *watched,
                          const char *tokenizer = nullptr) {
  QueryReceiver receiver = receiver_for(reader, function, watched);
  receiver.takes_blocks = true;
  receiver.how.tokenizer = tokenizer;
  run_query(query, receiver);
}

// Installs what tells watched computations how many rows to expect, and lets queries return blocks. Called
// when the library is loaded.
void install_query_hooks();

}  // namespace simjoin::pg
