// The index by which a refresh from changes finds the rows that may be similar to a changed one: the rows'
// prefixes in a fixed order of tokens, in a column of the table of rows that has a GIN index.
#pragma once

#include "pg/base/pg.hpp"

#include "core/dedup/token_order.hpp"
#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// The order, and how many rows there were at the last refresh.
struct TokenIndex {
  bool exists;  // false before the first refresh; what follows is then unknown
  int64 rows;
  int64 ordered_rows;  // when the tokens were put in order
  TokenOrder *order;
};

// Reads the order. It belongs to the context.
TokenIndex read_token_index(const DedupDefinition &definition, MemoryContext context);

// Returns whether the rows have become so many more that their tokens want a new order.
bool needs_new_order(const TokenIndex &index, int64 rows);

// Stores new and changed rows with their prefixes, or all rows where the tokens want a new order. What was
// stored of removed and changed rows is gone.
void store_indexed_rows(DedupState *state, const DedupDefinition &definition);

// Stores new and changed rows, and adds the kept rows that may be similar to one of them to the state. What
// was stored of removed and changed rows is gone, but not for the active snapshot.
void store_and_find_candidates(DedupState *state, const TokenIndex &index);

// Stores the number of rows.
void store_row_count(const DedupDefinition &definition, int64 rows);

}  // namespace simjoin::pg
