#include "pg/guard/versions.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/tableam.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/base/compat_bitmap.hpp"
#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

// Visits the versions of the row of an index entry.
void visit_entry(IndexFetchTableData *fetch, ItemPointerData place, TupleTableSlot *slot,
                 const VersionTaker &taker) {
  bool more = false;
  do {
    if (!table_index_fetch_tuple(fetch, &place, SnapshotAny, slot, &more, nullptr)) return;
    taker.take(taker.taker, fetch->rel, slot);
  } while (more);
}

// Visits all versions of a page, if the bitmap does not know their places.
void visit_page(Relation table, BlockNumber page, TupleTableSlot *slot, const VersionTaker &taker) {
  for (OffsetNumber offset = FirstOffsetNumber; offset <= MaxHeapTuplesPerPage; ++offset) {
    ItemPointerData place;
    ItemPointerSet(&place, page, offset);
    if (table_tuple_fetch_row_version(table, &place, SnapshotAny, slot)) taker.take(taker.taker, table, slot);
  }
}

void visit_places(Relation table, TIDBitmap *places, TupleTableSlot *slot, const VersionTaker &taker) {
  IndexFetchTableData *fetch = table_index_fetch_begin(table);
  compat::BitmapPages pages(places);
  while (pages.next()) {
    check_interrupts();
    if (pages.is_lossy()) visit_page(table, pages.page(), slot, taker);
    for (int i = 0; i < pages.count(); ++i) {
      ItemPointerData place;
      ItemPointerSet(&place, pages.page(), pages.offset(i));
      visit_entry(fetch, place, slot, taker);
    }
  }
  pages.end();
  table_index_fetch_end(fetch);
}

void read_table(Relation table, TupleTableSlot *slot, const VersionTaker &taker) {
  constexpr bool any_strategy = true, any_start = false;
  TableScanDesc scan = table_beginscan_strat(table, SnapshotAny, 0, nullptr, any_strategy, any_start);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    check_interrupts();
    taker.take(taker.taker, table, slot);
  }
  table_endscan(scan);
}

}  // namespace

void visit_versions(Relation table, AttrNumber column, const SoughtSets &sought, VersionTaker taker) {
  TIDBitmap *places = find_places(table, column, sought);
  TupleTableSlot *slot = table_slot_create(table, nullptr);
  if (places == nullptr) {
    read_table(table, slot, taker);
  } else {
    visit_places(table, places, slot, taker);
    tbm_free(places);
  }
  ExecDropSingleTupleTableSlot(slot);
}

void visit_all(Relation table, VersionTaker taker) {
  TupleTableSlot *slot = table_slot_create(table, nullptr);
  read_table(table, slot, taker);
  ExecDropSingleTupleTableSlot(slot);
}

bool fetch_latest(Relation table, ItemPointer place, TupleTableSlot *version) {
  TableScanDesc scan = table_beginscan_tid(table, SnapshotSelf);
  table_tuple_get_latest_tid(scan, place);
  table_endscan(scan);
  return table_tuple_fetch_row_version(table, place, SnapshotSelf, version);
}

}  // namespace simjoin::pg
