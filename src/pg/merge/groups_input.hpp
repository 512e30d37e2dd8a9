// The groups that a merge is given: which rows go, and which row each of them goes into.
#pragma once

#include "pg/merge/table_shape.hpp"

namespace simjoin::pg {

// The pairs (id, id of the survivor) of a query, as parameters of statements, and the start of a statement
// over them.
struct GroupsInput {
  Parameters parameters;
  // "WITH ..., member AS (...)": member has a row for each row that goes or survives: entry, the number of
  // its group, k0, k1 ..., its key, and survives. Groups have at least one row that is there and goes.
  const char *with;
  int pairs;  // whose id and survivor differ
};

// Reads the groups of the table: a query whose first two columns are a row's id and that of its survivor, or
// the name of a relation with such columns, as of a dedup view. Errors where a row has two survivors, a
// survivor goes itself, or a survivor is missing in the table.
GroupsInput read_groups(const Statements &on, const char *groups, const TableShape &table);

// Returns a query for the rows of the table that are members, with the journal's columns before their own.
const char *member_rows(const GroupsInput &groups, const TableShape &table);

}  // namespace simjoin::pg
