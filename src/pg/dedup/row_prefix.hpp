// The prefix of a row's set, with weights or without: for the table of rows, and for look-ups.
#pragma once

#include "pg/base/pg.hpp"

#include <optional>
#include <span>

#include "core/lookup/token_order.hpp"
#include "core/lookup/weighted_prefixes.hpp"
#include "pg/dedup/state.hpp"

namespace simjoin::pg {

// The order of the tokens of a view. Both objects belong to a memory context.
struct PrefixOrder {
  TokenOrder *tokens;
  WeightedPrefixes *weighted;  // nullptr where sets have no weights
};

// Returns the order with these frequent tokens.
PrefixOrder create_order(const DedupDefinition &definition, std::span<const TokenCode> frequent,
                         MemoryContext context);

// The prefix of a set, in the memory context that it was made in: `weighted` where the order is.
struct RowPrefix {
  SetPrefix plain;
  WeightedKeys weighted;
};

RowPrefix row_prefix(const DedupState &state, const PrefixOrder &order, TupleTableSlot *slot);

// The columns of the table of rows that hold the prefix: (size, prefix) or (total, prefix, masses).
struct PrefixColumns {
  Datum values[3];
  int count;
};
PrefixColumns columns_of(const RowPrefix &prefix, const PrefixOrder &order);

// Frees both.
void free_prefix(const RowPrefix &prefix, const PrefixColumns &columns);

// Returns the query for the rows of the table whose sizes or totals are $1 to $2, which are of `range_type`.
// It can be followed by a condition on `prefix`.
const char *query_by_range(const DedupState &state, Oid *range_type);

// Gives the smallest and the largest size or total of similar sets.
void range_of(const RowPrefix &prefix, const PrefixOrder &order, const Bounds &bounds, Datum *range);

// Returns lookups that find each similar set, or nothing if they have more than `most` entries (TokenOrder,
// WeightedPrefixes).
std::optional<std::span<const PrefixLookup>> lookups_of(const RowPrefix &prefix, const PrefixOrder &order,
                                                        size_t most);

// Gives the id of a row that the query has returned. Returns false if the row is not similar to the set that
// was looked up last, whose prefix is given.
bool may_be_similar(const RowPrefix &prefix, const PrefixOrder &order, const StoredRow &row, int64 *id);

}  // namespace simjoin::pg
