// What a dedup view remembers between refreshes: its rows' fingerprints and its similar pairs.
#pragma once

#include "pg/pg.hpp"

#include "core/fingerprint.hpp"
#include "core/graph_duplicates.hpp"
#include "core/node_numbers.hpp"
#include "pg/set_codec.hpp"

extern "C" {
#include "executor/tuptable.h"
#include "utils/tuplestore.h"
}

namespace simjoin::pg {

enum class RowState : uint8_t { added, changed, kept };

// A row of the view's query, and what has become of it since the last refresh.
struct DedupRow {
  int64 id;
  Fingerprint print;
  RowState state;
};

// A similar pair of two rows; a < b are their ids.
struct DedupPair {
  int64 a;
  int64 b;
  double similarity;
};

// What the last refresh of a session did.
struct RefreshFigures {
  int64 rows;
  int64 new_rows;
  int64 changed_rows;
  int64 removed_rows;
  int64 new_pairs;
};

// Numbers of ids, in the hands of a memory context.
struct RowNumbers {
  MemoryCounter memory;
  NodeNumbers numbers{memory};
};

// The rows of a view's query in their order, compared with those of the last refresh. Everything belongs to
// the context.
struct DedupState {
  const char *function;
  MemoryContext context;
  const char *rows_table;  // quoted names
  const char *pairs_table;
  RowNumbers *numbers;  // row i has the number i; removed rows have larger ones
  DedupRow *rows;
  size_t count;
  size_t capacity;
  int64 *stale;  // ids of removed rows and of changed ones
  size_t stale_count;
  size_t stale_capacity;
  Tuplestorestate *sets;  // the query's rows, (id, set)
  TupleDesc columns;
  TokenType token_type;
  RefreshFigures figures;
};

// Runs the query of the view `source` and compares its rows with the table `rows_table`. Tables and view are
// quoted names.
DedupState *read_state(const char *source, const char *rows_table, const char *pairs_table,
                       const char *function, MemoryContext context);

// Adds the stored pairs of rows that were kept to the grouper.
void add_kept_pairs(const DedupState &state, DuplicateGrouper *grouper);

// Removes what is stored of removed and changed rows, and stores new and changed ones.
void store_rows(const DedupState &state);

// Stores pairs.
void store_pairs(const DedupState &state, const DedupPair *pairs, size_t count);

}  // namespace simjoin::pg
