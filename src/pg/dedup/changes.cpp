#include "pg/dedup/changes.hpp"

extern "C" {
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>

#include "core/base/memory_shares.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/settings.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/dedup/part_query.hpp"
#include "pg/dedup/stored_rows.hpp"

namespace simjoin::pg {
namespace {

void make_distinct(GrowingArray<int64> *ids) {
  sort_interruptibly(
      ids->data(), ids->size(), [](int64 a, int64 b) { return a < b; },
      [](int64 id) { return comparison_cost(id); });
  ids->shorten(static_cast<size_t>(std::unique(ids->begin(), ids->end()) - ids->begin()));
}

// Adds the ids of a run. An id may have been noted often: once there are many ids, repeated ones are removed.
void add_run(ChangeList *list, int64 first, int64 last, size_t most) {
  const uint64 more = static_cast<uint64>(last) - static_cast<uint64>(first);  // ids after the first
  if (more >= most) list->all = true;
  if (list->all) return;
  if (list->ids.size() + more > 2 * most) make_distinct(&list->ids);
  if (list->ids.size() > most) list->all = true;
  for (uint64 i = 0; i <= more; ++i) list->ids.append(static_cast<int64>(static_cast<uint64>(first) + i));
}

void add_change(ChangeList *list, const StoredChange &change, size_t most) {
  if (change.anything)
    list->all = true;
  else
    add_run(list, change.first, change.last, most);
}

// Returns whether more than `most` keys are noted, each of them maybe often.
bool has_more_keys(const DedupDefinition &definition, const ChangeList &list, size_t most) {
  if (list.all || list.notes.size() <= most || most == 0) return list.notes.size() > most;
  int64 count = 0;
  run_over_part(count_of_noted_keys(definition, most + 1), relation_name(definition.changes), "dedup view",
                [&](const StoredRow &row) { count = stored_id(row); });
  return count > static_cast<int64>(most);
}

void write_run(ChangeNotes *notes) {
  if (!notes->pending) return;
  const Datum values[] = {Int64GetDatum(notes->first), Int64GetDatum(notes->last)};
  const bool nulls[] = {false, false};
  write_row(notes->writer, values, nulls);
  notes->pending = false;
}

}  // namespace

ChangeList read_changes(const DedupDefinition &definition, Relation changes, size_t most,
                        size_t memory_limit) {
  ChangeList list = {false, GrowingArray<int64>(CurrentMemoryContext),
                     GrowingArray<ItemPointerData>(CurrentMemoryContext)};
  size_t key_bytes = 0;  // of all notes: they are fetched into an array (id_queries)
  TupleTableSlot *slot = table_slot_create(changes, nullptr);
  TableScanDesc scan = table_beginscan(changes, GetActiveSnapshot(), 0, nullptr);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    check_interrupts();
    list.notes.append(slot->tts_tid);
    const StoredRow row = {slot, RelationGetRelationName(changes)};
    if (definition.has_keys())
      list.all |= !is_stored_key(row, definition.key_type, &key_bytes);
    else
      add_change(&list, stored_change(row), most);
  }
  table_endscan(scan);
  list.all |= key_bytes > key_share(memory_limit);
  ExecDropSingleTupleTableSlot(slot);
  make_distinct(&list.ids);
  if (list.ids.size() > most || (definition.has_keys() && has_more_keys(definition, list, most)))
    list.all = true;
  return list;
}

void forget_changes(Relation changes, const ChangeList &list, Snapshot snapshot, bool anything_else) {
  if (list.notes.empty() && !anything_else) return;
  ChangeNotes notes = open_notes(changes);
  // A note that is gone or has been changed since needs no removal.
  for (ItemPointerData &note : list.notes) erase_row(notes.writer, &note, snapshot);
  if (anything_else) note_all(&notes);
  close_notes(&notes);
}

ChangeNotes open_notes(Relation changes) {
  return {open_writer(changes), 0, 0, false};
}

void note_id(ChangeNotes *notes, int64 id) {
  if (notes->pending && id == notes->last) return;
  if (notes->pending && id > notes->last && id - 1 == notes->last) {
    notes->last = id;
    return;
  }
  write_run(notes);
  notes->first = notes->last = id;
  notes->pending = true;
}

void note_key(ChangeNotes *notes, Datum key) {
  const bool isnull = false;
  write_row(notes->writer, &key, &isnull);
}

void note_all(ChangeNotes *notes) {
  const Datum values[] = {0, 0};  // a table of keys has one column, and takes the first
  const bool nulls[] = {true, true};
  write_row(notes->writer, values, nulls);
}

void close_notes(ChangeNotes *notes) {
  write_run(notes);
  close_writer(notes->writer);
}

}  // namespace simjoin::pg
