// The index that gives a refresh from changes the rows that may be similar to a changed row. It is a GIN
// index on a column of the table of rows: the rows' prefixes in a fixed order of tokens.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/row_prefix.hpp"
#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// The order, and how many rows there were at the last refresh.
struct TokenIndex {
  bool exists;  // false before the first refresh, when the rest is unknown
  int64 rows;
  int64 ordered_rows;  // the rows when the tokens were put in order
  PrefixOrder order;
};

// Reads the order. It belongs to the context.
TokenIndex read_token_index(const DedupDefinition &definition, MemoryContext context);

// Returns whether the rows have grown so much that the tokens need a new order.
bool needs_new_order(const TokenIndex &index, int64 rows);

// Stores new and changed rows with their prefixes, or all rows where the tokens need a new order. The caller
// has removed what was stored of removed and changed rows.
void store_indexed_rows(DedupState *state, const DedupDefinition &definition);

// Stores new and changed rows, and adds the kept rows that may be similar to one of them to the state. The
// caller has removed what was stored of removed and changed rows, which the active snapshot still sees.
void store_and_find_candidates(DedupState *state, const TokenIndex &index);

// Stores the number of rows.
void store_row_count(const DedupDefinition &definition, int64 rows);

}  // namespace simjoin::pg
