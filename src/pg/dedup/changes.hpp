// The table of changes beside a dedup view: which rows may have changed since its last refresh.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
}

#include "pg/base/growing_array.hpp"
#include "pg/dedup/definition.hpp"
#include "pg/query/table_writer.hpp"

namespace simjoin::pg {

// The changes that have been written down. They belong to the memory context that they were read in.
struct ChangeList {
  bool all;                             // anything may have changed, or more ids than the reader asked for
  GrowingArray<int64> ids;              // ascending, distinct; none where ids are keys
  GrowingArray<ItemPointerData> notes;  // the places of the rows of the table
};

// Reads the changes of the view that the active snapshot sees. Where there are more than `most` ids, or
// keys that take more than key_share(), `all` is set instead. Keys stay in the table (is_noted_key).
ChangeList read_changes(const DedupDefinition &definition, Relation changes, size_t most,
                        size_t memory_limit);

// Removes the notes that were read. Notes written since stay. With `anything_else` a note is left that says
// that anything may have changed.
void forget_changes(Relation changes, const ChangeList &list, Snapshot snapshot, bool anything_else);

// Writes ids down. A run of consecutive integers is one note, and a key is one.
struct ChangeNotes {
  TableWriter *writer;
  int64 first;
  int64 last;
  bool pending;  // the run from first to last is not written yet
};

// Begins to write to the table, which the caller has open and keeps open.
ChangeNotes open_notes(Relation changes);
void note_id(ChangeNotes *notes, int64 id);
void note_key(ChangeNotes *notes, Datum key);
// Notes that anything may have changed.
void note_all(ChangeNotes *notes);
void close_notes(ChangeNotes *notes);

}  // namespace simjoin::pg
