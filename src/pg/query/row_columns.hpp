// The columns of queries that return an id and a set, with hints about others.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
}

#include "pg/query/row_keys.hpp"
#include "pg/sets/set_codec.hpp"
#include "pg/sets/tokenizers.hpp"

namespace simjoin::pg {

// Who checks the columns of a query. `key_name` is the argument that tells the type of keys, or nullptr.
struct ColumnCheck {
  const char *function;     // for messages
  RowKeys *keys = nullptr;  // of the type that ids have instead of bigint
  const char *key_name = nullptr;
  bool takes_tokenizers = false;  // a text may be given, with a tokenizer
};

// How the sets of a query's rows are found in the second column.
struct SetColumn {
  TokenType token_type;
  SetMaker *maker;  // nullptr where the column's values are sets
};

// Returns whether the first column holds ids. Errors where it should hold keys of another type.
bool check_id_column(TupleDesc columns, RowKeys *keys);

// Returns the type of the tokens of a query's rows, (id, tokens set). Errors where the columns are others.
TokenType check_row_columns(TupleDesc columns, const ColumnCheck &check);

// Returns how the sets of a query's rows are found: with a tokenizer in rows (id, text), without one in rows
// (id, set) or (id, tsvector). What it returns belongs to the context. Errors where the columns are others.
SetColumn check_set_column(TupleDesc columns, const ColumnCheck &check, const char *tokenizer,
                           MemoryContext context);

// Returns the same for rows (id, tokens set, weights real[]). Errors if there is a tokenizer.
SetColumn check_weighted_columns(TupleDesc columns, const ColumnCheck &check, const char *tokenizer);

}  // namespace simjoin::pg
