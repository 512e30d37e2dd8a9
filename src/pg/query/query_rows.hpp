// Rows of a query, (id, set), on their way into an engine.
#pragma once

#include "pg/base/pg.hpp"

#include "core/dedup/equal_rows.hpp"
#include "core/dedup/set_copies.hpp"
#include "core/join.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/computation/engine.hpp"
#include "pg/query/row_columns.hpp"
#include "pg/query/row_keys.hpp"
#include "pg/query/row_sample.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// The ids of the rows that were read, in their order; row i of the engine's side has ids[i]. Where there are
// keys, an id is the number of one.
struct QueryRows {
  GrowingArray<int64> ids;
  TokenType token_type;
  RowKeys *keys;  // nullptr where ids are integers and returned as bigint

  size_t count() const { return ids.size(); }
};

// Errors, naming `function`: two rows have this id.
[[noreturn]] void raise_repeated_id(int64 id, const char *function);

// Who gets the rows of a query, and how.
struct RowTarget {
  const char *function;
  JoinEngine *engine;
  File *spill_file;  // the engine's (end_row)
  Side side;
  MemoryContext context;             // of the ids
  const QueryRows *other = nullptr;  // rows whose sets must have the same type
  SetCopies *copies = nullptr;       // get every set, and the engine only those that are to be joined
  KeyArgument key = {nullptr, InvalidOid};
  const char *tokenizer = nullptr;            // makes the sets where the query returns texts
  KeyNumbers numbers = KeyNumbers::distinct;  // of keys
  bool weighted = false;                      // rows have weights in a third column
  RowSample *sample = nullptr;                // keeps some sets beside the engine, by their ids or rows
  EqualRows *equal = nullptr;                 // get every set without weights, too
  bool in_order = false;                      // the order of the rows matters even where the query has none
};

// Runs the query, which must return (id, tokens set) or, for a weighted join, (id, tokens set, weights
// real[]), with the caller's rights and snapshot, and adds each row to a side of the engine. With a tokenizer
// the second column is a text, from which it makes the set. Without one, a tsvector is the set of its
// lexemes. A NULL set or text, or a set whose weights are NULL, counts as an empty set. Returns the ids.
// Errors, naming the function: other columns, a NULL id, a repeated key where keys are to be distinct,
// whatever view_set and view_weights refuse, a query that writes.
QueryRows read_rows(const char *query, const RowTarget &target);

// Errors, naming `function`, where two rows have the same id. Keys have been checked already.
void check_distinct_ids(const QueryRows &rows, const char *function);

}  // namespace simjoin::pg
