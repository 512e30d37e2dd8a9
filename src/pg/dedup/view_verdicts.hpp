// Verdicts that bind the groups of a dedup view. Every refresh reads all of them. Where changes are tracked,
// a table beside the view has those that bound its groups at the last refresh: what differs tells which rows
// to group anew.
#pragma once

#include "pg/base/pg.hpp"

#include <span>

#include "pg/base/growing_array.hpp"
#include "pg/dedup/state.hpp"
#include "pg/dedup/stored_rows.hpp"
#include "pg/functions/duplicate_grouping.hpp"

namespace simjoin::pg {

// A row, by its id in the parts, and one that is the same by a verdict.
struct SameRow {
  int64 id;
  int64 other;
};

// Verdicts on rows of the view, in the parts' ids.
struct ViewVerdicts {
  GrowingArray<StoredVerdict> all;   // ascending, distinct
  GrowingArray<SameRow> same;        // each pair of rows that are the same, both ways, by id
  GrowingArray<int64> changed_rows;  // rows of the verdicts that are new or gone since the last refresh
};

// Returns what the row is the same as by verdicts.
std::span<const SameRow> same_as(const ViewVerdicts &verdicts, int64 id);

// Reads the verdicts, and adds them to the grouping of all rows. Where changes are tracked, stores them.
void bind_groups(const DedupState &state, RowGrouping *grouping);

// Reads the verdicts on rows that the table of rows has, and stores them. The active snapshot sees what this
// refresh has stored of the rows.
ViewVerdicts read_view_verdicts(const DedupState &state);

}  // namespace simjoin::pg
