// The rows of a dedup view whose groups changes may have altered.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/part_query.hpp"
#include "pg/dedup/state.hpp"
#include "pg/functions/duplicate_grouping.hpp"

namespace simjoin::pg {

struct AffectedPairs;

inline constexpr uint32_t no_place = UINT32_MAX;

// The rows whose groups may be others now, and all of their pairs.
struct Affected {
  RowNumbers *rows;  // the removed ones among them
  AffectedPairs *pairs;
  size_t known;      // row numbers, once all are known
  uint32_t *places;  // of each of them, its row of the grouping; removed ones have none
  int64 *ids;        // of each row of the grouping
  size_t count;
};

// Returns the rows that changes begin with: new, changed and removed ones, former partners of these, and
// where the order of rows counts all that were written to.
Affected *start_affected(const DedupState &state, bool order_counts);

// Adds all rows that a chain of pairs connects with an affected one, and all pairs of these.
void close_affected(Affected *affected, const char *pairs_table);

// Gives the affected rows that there still are their places in the grouping: in the query's order, where it
// counts.
void place_rows(Affected *affected, const DedupDefinition &definition, IdList removed, bool order_counts);

// Returns the groups of the affected rows, of `all_rows` rows.
RowGrouping *group_affected(const Affected &affected, const GroupingOptions &options, int64 all_rows,
                            MemoryContext context);

// Returns a copy of the affected ids, in the order of their numbers.
IdList ids_of(const Affected &affected);

// Returns the number of one of the affected rows, which are all known by now, and each of which is met once.
uint32_t known_number_of(const Affected &affected, int64 id);

}  // namespace simjoin::pg
