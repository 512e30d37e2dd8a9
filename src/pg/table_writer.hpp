// Rows written straight to a table and its indexes: many at a time, and also where SQL would not let one.
#pragma once

#include "pg/pg.hpp"

extern "C" {
#include "nodes/parsenodes.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

namespace simjoin::pg {

struct TableWriter;

// What a writer leaves out. Whoever leaves out GIN indexes rebuilds them (rebuild_left_out).
enum class Indexes : uint8_t { all, all_but_gin };

// Errors unless the relation is of this kind and has columns of these types and no others. `what`: what it is
// expected to be.
void check_layout(Relation relation, char kind, const Oid *types, int columns, const char *what);

// Errors unless the current user has these rights (ACL_INSERT and the like) to the table.
void check_rights(Relation relation, AclMode rights);

// Errors where rows written by a writer, for this user, would get past what guards somebody else's table.
void check_unguarded(Relation relation, Oid user);

// Returns a writer to the relation, which the caller has open, and for whose rights and layout the caller
// answers. Triggers and constraints other than unique indexes count for nothing. It belongs to the current
// memory context; after an error nothing has to be done about it.
TableWriter *open_writer(Relation relation, Indexes indexes = Indexes::all);

// Adds a row, which is copied: what it refers to may be freed.
void write_row(TableWriter *writer, const Datum *values, const bool *nulls);

// Removes a row that no other transaction changes.
void erase_row(TableWriter *writer, ItemPointer row, Snapshot snapshot);

// Ends the writing; later commands of the transaction see what was written.
void close_writer(TableWriter *writer);

// Builds anew the indexes of the relation that were left out.
void rebuild_left_out(Relation relation);

}  // namespace simjoin::pg
