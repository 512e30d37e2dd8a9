// Pairs with a similarity, from a query.
#pragma once

#include "pg/base/pg.hpp"

#include "core/matching/match_finder.hpp"
#include "pg/query/row_keys.hpp"

namespace simjoin::pg {

// The keys of both sides of pairs; nullptr where ids are returned as bigint.
struct PairKeys {
  RowKeys *left;
  RowKeys *right;

  bool are_integers() const { return pg::are_integers(left) && pg::are_integers(right); }
};

// Runs the query, which must return (left id, right id, similarity), with the caller's rights and snapshot,
// and adds each pair to the finder. Ids that are no integers are of the type of their keys, and the finder
// gets their numbers, which are in the order of the keys: all pairs are then read before it gets any, and
// wait in `memory`. What waits belongs to the context, which is also the key of the computation that is
// watched (watch.hpp). Errors, naming the function: other columns, a NULL, whatever the finder throws, a
// query that writes.
void read_pairs(const char *query, const char *function, const PairKeys &keys, MatchFinder *finder,
                MemoryCounter *memory, MemoryContext context);

}  // namespace simjoin::pg
