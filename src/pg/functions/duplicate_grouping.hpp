// Groups of duplicates in PostgreSQL's hands: from ids and pairs to the rows of a result.
#pragma once

#include "pg/base/pg.hpp"

#include <optional>

#include "core/dedup/duplicate_groups.hpp"
#include "core/dedup/judged_groups.hpp"
#include "pg/query/result_rows.hpp"
#include "pg/query/row_keys.hpp"

namespace simjoin::pg {

// How rows are grouped, and which row of a group survives.
struct GroupingOptions {
  Grouping grouping;
  bool keep_first_row;     // the first row in the query's order survives, else the one with the smallest id
  double max_group_share;  // a larger group is worth a NOTICE; with 1 no group is
  bool judged = false;     // verdicts bind; the method is components
};

// Returns the options that these arguments name. `judged` says whether verdicts bind. Errors, naming
// `function`, where they are not valid.
GroupingOptions grouping_options(const char *method, const char *keep, double max_group_share, bool judged,
                                 const char *function);

// What groups rows, and its result.
struct GroupingWork {
  // Its groups are refused beyond `memory_limit`, which the join leaves.
  GroupingWork(Grouping method, size_t memory_limit);

  // Adds a pair of rows that are not copies of others.
  void add_pair(uint32_t a, uint32_t b, double similarity) {
    if (judged)
      judged->add_pair(a, b, similarity);
    else
      grouper->add_pair(a, b, similarity);
  }

  MemoryCounter memory;
  std::optional<SetCopies> copies;          // set where copies of a set are not joined
  std::optional<DuplicateGrouper> grouper;  // this or the next
  std::optional<JudgedGrouper> judged;
  std::optional<DuplicateGroups> result;
};

// Returns work that has not begun; it belongs to the context. `beside_keys`: keys need memory, too.
GroupingWork *create_grouping_work(Grouping method, MemoryContext context, bool beside_keys = false);

// Rows that are being grouped. Everything belongs to the context.
struct RowGrouping {
  const char *function;
  GroupingOptions options;
  const int64 *ids;  // of each row; they are distinct
  RowKeys *keys;     // whose numbers the ids are, or nullptr
  size_t rows;
  GroupingWork *work;
  MemoryContext context;
  const int64 *entities;  // of each row, or nullptr where they have none
};

// Returns a grouping of the rows with these ids, which must outlive it as their keys must. The copies of
// `work` are known already. The caller adds pairs to the work, and verdicts to work->judged, within call_cpp.
RowGrouping *start_grouping(const GroupingOptions &options, GroupingWork *work, const int64 *ids, size_t rows,
                            const char *function, MemoryContext context, RowKeys *keys = nullptr);

// Forms the groups. Raises a NOTICE where groups are larger than they should be among `all_rows` rows.
void form_groups(RowGrouping *grouping, size_t all_rows);

// The columns of a row of the result: id, group_id, is_representative, similarity and, if rows have entities,
// entity_id.
struct GroupRow {
  Datum values[5];
  bool nulls[5];
};

// Returns a row of the groups.
GroupRow group_row(const RowGrouping &grouping, size_t row);

// Adds each row to the call's result.
void return_groups(const RowGrouping &grouping, ResultRows *result);

}  // namespace simjoin::pg
