// Which rows of a referencing table follow the rows that go, and how.
#pragma once

#include "pg/merge/references.hpp"

namespace simjoin::pg {

enum class OnConflict : uint8_t {
  error,   // unique indexes raise theirs
  remove,  // rows go that would become equal to another one in a unique index
};

// The rows of a group, as a relation: the journal of the merged table, or a query in a WITH clause.
struct GroupRows {
  const TableShape *table;
  const char *name;
};

// Returns joins of a row of the referencing table with the rows of groups that it leads to, and the value of
// a column after the redirection, for a query with these joins.
const char *left_joined_targets(const GroupRows &groups, const ReferencingTable &referencing,
                                const char *row);
const char *redirected_value(const ReferencingTable &referencing, int column, const char *row);

// Returns a query for the rows of the referencing table that point to rows that go. Its columns: merge_table
// and merge_row, the place of the row; b1 to bn, the columns of the table; lost, whether the row goes itself.
const char *redirected_rows(const GroupRows &groups, const ReferencingTable &referencing,
                            OnConflict on_conflict);

// Returns a query for the number of rows that redirected_rows() takes for lost although no row that stays is
// equal to them in a unique index: the row that was, was lost in another one. Returns nullptr where there are
// not several indexes.
const char *rows_lost_to_lost_rows(const GroupRows &groups, const ReferencingTable &referencing);

// Returns a query for the rows t of the referencing table that point to rows of groups: those that can be
// equal after a redirection.
const char *rows_of_groups(const GroupRows &groups, const ReferencingTable &referencing);

// The queries below that find faults aggregate. With LIMIT the planner would expect one soon, and take nested
// loops, where there is almost always none.

// Returns a query for the number of rows of a referencing table that would point to NULL.
const char *rows_without_target(const GroupRows &groups, const ReferencingTable &referencing);

// Returns a query for the key of a row of the merged table that a redirection would give another key. It is
// NULL where there is none. Returns nullptr where there can be none.
const char *rekeyed_rows(const GroupRows &groups, const ReferencingTable &referencing);

// Returns a query for the name of a foreign key by which a row of the referencing table would reference
// another row than it did, or than its new one: keys share a column, or a value does not fit the column. It
// is NULL where no row does. Returns nullptr where no key can.
const char *misdirected_rows(const GroupRows &groups, const ReferencingTable &referencing);

// Returns a query for the new values of the rows that the journal of the referencing table has, `part`: its
// entry, the place of the row, and c1, c2 and so on, the columns that redirects() names, in their order.
const char *new_references(const GroupRows &groups, const ReferencingTable &referencing, const char *part);

}  // namespace simjoin::pg
