// Verdicts of people on pairs of rows, from a query.
#pragma once

#include "pg/base/pg.hpp"

#include "pg/base/growing_array.hpp"
#include "pg/functions/duplicate_grouping.hpp"

namespace simjoin::pg {

// A verdict on two rows of a grouping.
struct RowVerdict {
  uint32_t a;
  uint32_t b;
  bool same;
};

// Runs the query, which returns (a, b, verdict) with ids as those of the grouping's rows, with the caller's
// rights and snapshot. Returns the verdicts on these rows, in its context. Says how many name other rows.
GrowingArray<RowVerdict> read_verdicts(const char *query, const RowGrouping &grouping);

// Adds the verdicts to the grouping.
void add_verdicts(const GrowingArray<RowVerdict> &verdicts, RowGrouping *grouping);

// Warns of verdicts that contradict others, or themselves.
void report_verdicts(const RowGrouping &grouping);

// Errors, naming `function`, unless the columns are two ids and a text. Ids are keys like these, or integers
// where `keys` is nullptr.
void check_verdict_columns(TupleDesc columns, RowKeys *keys, const char *function);

// Returns the id of a side of a verdict, the column 0 or 1. Errors, naming `function`, if it is NULL.
Datum id_in_verdict(const QueryRow &row, int side, const char *function);

// Returns whether a verdict is 'same'. Errors, naming `function`, unless it is that or 'different'.
bool is_same(Datum verdict, const char *function);

// Returns the counter of the memory that verdicts need. It belongs to the context.
MemoryCounter *create_verdict_memory(MemoryContext context);

// Errors unless there is room for so many verdicts.
void check_room(const MemoryCounter &memory, size_t verdicts);

// Says how many of all verdicts name rows that are not there, if any.
void note_unknown_rows(size_t verdicts, size_t all, const char *function);

}  // namespace simjoin::pg
