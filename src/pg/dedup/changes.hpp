// The table of changes beside a dedup view: which rows may have changed since its last refresh.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

#include "pg/base/growing_array.hpp"
#include "pg/base/table_writer.hpp"

namespace simjoin::pg {

// What has been written down. It belongs to the memory context that it was read in.
struct ChangeList {
  bool all;                 // anything may have changed, or more than the reader wanted to know of
  GrowingArray<int64> ids;  // ascending, distinct
  GrowingArray<ItemPointerData> notes;  // the rows of the table that say so
};

// Reads the changes that the snapshot sees. Where there are more than `most` ids, `all` is set instead.
ChangeList read_changes(Relation changes, Snapshot snapshot, size_t most);

// Removes the notes that were read; those written since stay. With `anything_else` one is left that says
// that anything may have changed.
void forget_changes(Relation changes, const ChangeList &list, Snapshot snapshot, bool anything_else);

// Writes ids down, runs of consecutive ones as one note.
struct ChangeNotes {
  TableWriter *writer;
  int64 first;
  int64 last;
  bool pending;  // there is a run from first to last
};

// Begins to write to the table, which the caller has open and keeps open.
ChangeNotes open_notes(Relation changes);
void note_id(ChangeNotes *notes, int64 id);
// Notes that anything may have changed.
void note_all(ChangeNotes *notes);
void close_notes(ChangeNotes *notes);

}  // namespace simjoin::pg
