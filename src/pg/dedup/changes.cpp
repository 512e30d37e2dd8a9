#include "pg/dedup/changes.hpp"

extern "C" {
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/rel.h"
}

#include <algorithm>

#include "pg/base/interruptible.hpp"
#include "pg/dedup/stored_rows.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t first_capacity = 64;

template <class T>
void append(T **data, size_t *count, size_t *capacity, const T &value) {
  make_room(data, *count, capacity);
  (*data)[(*count)++] = value;
}

void make_distinct(ChangeList *list) {
  sort_interruptibly(
      list->ids, list->id_count, [](int64 a, int64 b) { return a < b; },
      [](int64 id) { return comparison_cost(id); });
  list->id_count = static_cast<size_t>(std::unique(list->ids, list->ids + list->id_count) - list->ids);
}

// Adds the ids of a run. An id may have been noted often: where that is what makes them many, it is sorted
// out.
void add_run(ChangeList *list, int64 first, int64 last, size_t most, size_t *capacity) {
  const uint64 more = static_cast<uint64>(last) - static_cast<uint64>(first);  // ids but one
  if (more >= most) list->all = true;
  if (list->all) return;
  if (list->id_count + more > 2 * most) make_distinct(list);
  if (list->id_count > most) list->all = true;
  for (uint64 i = 0; i <= more; ++i)
    append(&list->ids, &list->id_count, capacity, static_cast<int64>(static_cast<uint64>(first) + i));
}

void write_run(ChangeNotes *notes) {
  if (!notes->pending) return;
  const Datum values[] = {Int64GetDatum(notes->first), Int64GetDatum(notes->last)};
  const bool nulls[] = {false, false};
  write_row(notes->writer, values, nulls);
  notes->pending = false;
}

}  // namespace

ChangeList read_changes(Relation changes, Snapshot snapshot, size_t most) {
  ChangeList list = {};
  size_t id_capacity = first_capacity, note_capacity = first_capacity;
  list.ids = allocate<int64>(id_capacity);
  list.notes = allocate<ItemPointerData>(note_capacity);
  TupleTableSlot *slot = table_slot_create(changes, nullptr);
  TableScanDesc scan = table_beginscan(changes, snapshot, 0, nullptr);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    CHECK_FOR_INTERRUPTS();
    append(&list.notes, &list.note_count, &note_capacity, slot->tts_tid);
    const StoredChange change = stored_change({slot, RelationGetRelationName(changes)});
    if (change.anything)
      list.all = true;
    else
      add_run(&list, change.first, change.last, most, &id_capacity);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
  make_distinct(&list);
  if (list.id_count > most) list.all = true;
  return list;
}

void forget_changes(Relation changes, const ChangeList &list, Snapshot snapshot, bool anything_else) {
  if (list.note_count == 0 && !anything_else) return;
  ChangeNotes notes = open_notes(changes);
  // A note that is not there any more, or has been changed since, is nothing to forget.
  for (size_t i = 0; i < list.note_count; ++i) erase_row(notes.writer, &list.notes[i], snapshot);
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

void note_all(ChangeNotes *notes) {
  const Datum values[] = {0, 0};
  const bool nulls[] = {true, true};
  write_row(notes->writer, values, nulls);
}

void close_notes(ChangeNotes *notes) {
  write_run(notes);
  close_writer(notes->writer);
}

}  // namespace simjoin::pg
