// Rows written straight to a table and its indexes: many at a time, and also where SQL would not let one.
#pragma once

#include "pg/base/pg.hpp"

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

// Returns a writer to the relation, which the caller has open, and for whose rights and layout the caller
// answers. Triggers and constraints other than unique indexes count for nothing. It belongs to the current
// memory context; after an error nothing has to be done about it.
TableWriter *open_writer(Relation relation, Indexes indexes = Indexes::all);

// Adds a row, which is copied: what it refers to may be freed.
void write_row(TableWriter *writer, const Datum *values, const bool *nulls);

// Removes a row that the snapshot sees; returns false where another transaction, or this one, has changed or
// removed it since.
bool erase_row(TableWriter *writer, ItemPointer row, Snapshot snapshot);

// Ends the writing; later commands of the transaction see what was written.
void close_writer(TableWriter *writer);

// Builds anew the indexes of the relation that were left out.
void rebuild_left_out(Relation relation);

}  // namespace simjoin::pg
