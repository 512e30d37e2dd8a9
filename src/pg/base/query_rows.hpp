// Rows of a query, (id, set), on their way into an engine.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/tupdesc.h"
}

#include "core/dedup/set_copies.hpp"
#include "core/join.hpp"
#include "pg/base/engine.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/set_codec.hpp"

namespace simjoin::pg {

// The ids of the rows that were read, in their order; row i of the engine's side has ids[i].
struct QueryRows {
  GrowingArray<int64> ids;
  TokenType token_type;

  size_t count() const { return ids.size(); }
};

// Returns the type of the tokens of a query's rows, (id bigint, tokens set). Errors, naming `function`, where
// the columns are others.
TokenType check_row_columns(TupleDesc columns, const char *function);

// Errors, naming `function`: two rows have this id.
[[noreturn]] void raise_repeated_id(int64 id, const char *function);

// Runs the query, which must return (id bigint, tokens set), with the caller's rights and snapshot, and adds
// each row to a side of the engine. A NULL set counts as an empty set. Returns the ids, which belong to the
// context. `spill_file` is the engine's (offer_spill_file). `other`, where given, are rows whose sets must
// have the same type. `copies`, where given, get every set, and the engine only those that are to be joined.
// Errors, naming `function`: other columns, a NULL id, whatever view_set refuses, a query that writes.
QueryRows read_rows(const char *query, JoinEngine *engine, File *spill_file, Side side, const char *function,
                    MemoryContext context, const QueryRows *other = nullptr, SetCopies *copies = nullptr);

// Errors, naming `function`, where two rows have the same id.
void check_distinct_ids(const QueryRows &rows, const char *function);

}  // namespace simjoin::pg
