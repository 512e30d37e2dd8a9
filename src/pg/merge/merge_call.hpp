// What a call of a function that merges rows, or shows what that would do, is given.
#pragma once

#include "pg/base/named_arguments.hpp"
#include "pg/merge/groups_input.hpp"
#include "pg/merge/redirect.hpp"
#include "pg/merge/rules.hpp"

namespace simjoin::pg {

struct MergeCall {
  Statements on;
  TableShape table;
  References references;
  Rules rules;
  GroupsInput groups;
  OnConflict on_conflict;
};

// Checks and reads the arguments of a call. Locks the table, and those that reference it, against writers if
// the call writes. Tables are locked in this order: the merged table, the referencing tables by their OIDs.
MergeCall read_call(const Statements &on, const NamedArguments &arguments, Oid table);

// Errors where a row of the table would lose its reference, since the survivor has NULL in its columns, or
// would reference another row by one of its foreign keys, or get another key itself. `with` comes before the
// query.
void check_targets(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                   const char *with, const Parameters &parameters);

// Errors where rows of the table cannot be deleted so that they could come back, since others would go or
// change with them, or where they would go although they repeat no row that stays.
void check_losses(const MergeCall &call, const GroupRows &rows, const ReferencingTable &referencing,
                  const char *with, const Parameters &parameters);

// Errors where an UPDATE of these columns of the table would change others, or delete rows, which could not
// be undone or would fire triggers of other roles.
void check_no_update_actions(const Statements &on, const TableShape &shape, int count,
                             const char *const *columns, const TrustedTables &trusted);

}  // namespace simjoin::pg
