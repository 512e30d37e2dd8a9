// Rows written straight to a table and its indexes: many at a time, and also to relations that SQL does not
// write to.
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

// Which indexes a writer writes to. Whoever leaves out GIN indexes rebuilds them (rebuild_left_out).
enum class Indexes : uint8_t { all, all_but_gin };

// Returns a writer to the relation. The caller has the relation open, and has checked rights and layout.
// Triggers are not run, and of constraints only unique indexes are checked. The writer belongs to the current
// memory context, and needs no cleaning up after an error.
TableWriter *open_writer(Relation relation, Indexes indexes = Indexes::all);

// Adds a copy of the row: what it refers to may be freed afterwards.
void write_row(TableWriter *writer, const Datum *values, const bool *nulls);

// Removes a row that the snapshot sees. Returns false where any transaction has changed or removed the row
// since.
bool erase_row(TableWriter *writer, ItemPointer row, Snapshot snapshot);

// Ends the writing. Later commands of the transaction see the rows.
void close_writer(TableWriter *writer);

// Builds anew the indexes of the relation that were left out.
void rebuild_left_out(Relation relation);

}  // namespace simjoin::pg
