// The rows of a dedup view whose groups changes may have altered.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/dedup/part_query.hpp"
#include "pg/dedup/state.hpp"
#include "pg/dedup/view_verdicts.hpp"
#include "pg/functions/duplicate_grouping.hpp"

namespace simjoin::pg {

struct AffectedPairs;

inline constexpr uint32_t no_place = UINT32_MAX;

// The rows whose groups may have changed, and all of their pairs.
struct Affected {
  RowNumbers *rows;  // removed rows are among them
  AffectedPairs *pairs;
  size_t known;      // the count of row numbers, once all are known
  uint32_t *places;  // the row of the grouping that each number has; removed rows have none
  int64 *ids;        // the ids of the rows of the grouping, or the places of their keys in the order
  size_t count;
  RowKeys *keys;  // of these rows; nullptr where ids are integers
};

// Returns the rows to begin with: new, changed and removed rows, and their former partners. Where the order
// of rows counts, all rows that were written to are among them, and also where ids are keys: an equal key may
// look different now.
Affected *start_affected(const DedupState &state, bool order_counts);

// Adds the rows whose verdicts have changed.
void add_judged_rows(Affected *affected, const ViewVerdicts &verdicts);

// Adds all rows that a chain of pairs and, where there are any, of verdicts 'same' connects with an affected
// row, and all of their pairs.
void close_affected(Affected *affected, const char *pairs_table, const ViewVerdicts *verdicts);

// Gives the affected rows that still exist their places in the grouping. With `order_counts` they are in the
// query's order. Returns how many rows of the query were read for that.
size_t place_rows(Affected *affected, const DedupDefinition &definition, IdList removed, bool order_counts);

// Returns the groups of the affected rows, which verdicts may bind. The view has `all_rows` rows.
RowGrouping *group_affected(const Affected &affected, const GroupingOptions &options,
                            const ViewVerdicts *verdicts, int64 all_rows, MemoryContext context);

// Returns a copy of the affected ids, in the order of their numbers.
IdList ids_of(const Affected &affected);

// Returns the number of an affected row. All affected rows are known by now: any other id is an error, that
// of a repeated id.
uint32_t known_number_of(const Affected &affected, int64 id);

}  // namespace simjoin::pg
