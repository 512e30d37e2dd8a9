// The rules by which columns of a survivor get their values from the rows of its group.
#pragma once

#include "pg/merge/references.hpp"

namespace simjoin::pg {

struct Rule {
  int column;        // its place in the table
  const char *text;  // the name of a rule, or an expression
};

struct Rules {
  int count;
  Rule *rules;
  int newest_by;  // the place of a column, -1 where none was named
};

// Reads the rules, a jsonb object with a text for each column. Errors where a column cannot have a rule.
Rules read_rules(const Statements &on, Datum json, const char *newest_by, const TableShape &table,
                 const References &references);

// Returns a query for the merged values, entry, v0, v1 and so on, in the order of the rules. `rows` is a
// relation with rows of groups, as member_rows() returns them. It runs with the caller's search path.
const char *merged_values(const Rules &rules, const TableShape &table, const char *rows);

}  // namespace simjoin::pg
