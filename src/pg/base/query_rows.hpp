// Rows of a query, (id, set), on their way into an engine.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
}

#include "core/dedup/set_copies.hpp"
#include "core/join.hpp"
#include "pg/base/engine.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// The ids of the rows that were read, in their order; row i of the engine's side has ids[i].
struct QueryRows {
  int64 *ids;
  size_t count;
  TokenType token_type;
};

// Checks the columns of a query for rows, (id bigint, tokens set), and gives the base type of the id and the
// token type. Errors, naming `function`, where they are others.
void check_row_columns(TupleDesc columns, const char *function, Oid *id_type, TokenType *token_type);

// Returns the hint of an error about the columns of a query that should be an id and a set.
const char *hint_for_sets(TupleDesc columns);

// Errors, naming `function`: a row has no id.
[[noreturn]] void raise_null_id(const char *function);

// Errors, naming `function`: two rows have this id.
[[noreturn]] void raise_repeated_id(int64 id, const char *function);

// Runs the query, which must return (id bigint, tokens set), with the caller's rights and snapshot, and adds
// each row to a side of the engine; a NULL set as an empty one. The ids belong to the context. Errors, naming
// `function`: other columns, a NULL id, whatever view_set refuses, a query that writes; where `other` is
// given, sets of another type than those rows'. `spill_file` is the engine's (offer_spill_file). Where
// `copies` are given, they get every set, and the engine those that are to be joined.
QueryRows read_rows(const char *query, JoinEngine *engine, File *spill_file, Side side, const char *function,
                    MemoryContext context, const QueryRows *other = nullptr, SetCopies *copies = nullptr);

// Errors, naming `function`, where two rows have the same id.
void check_distinct_ids(const QueryRows &rows, const char *function);

}  // namespace simjoin::pg
