#include "pg/index/gin_places.hpp"

extern "C" {
#include "access/gin_private.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"
}

#include <cstring>

#include "pg/base/interrupts.hpp"

namespace simjoin::pg {
namespace {

struct Reader {
  Relation index;
  GinState state;
  EntryTaker taker;
};

[[noreturn]] void raise_page(Relation index, BlockNumber number) {
  ereport(ERROR,
          (errcode(ERRCODE_INDEX_CORRUPTED),
           errmsg("index \"%s\" has an unexpected page at block %u", RelationGetRelationName(index), number),
           errhint("REINDEX makes the index anew.")));
  pg_unreachable();
}

// Errors unless the page is of the kind: GIN_DATA of a posting tree, GIN_LIST of the pending list, 0 of the
// tree of entries.
void check_page(Relation index, Page page, BlockNumber number, int kind) {
  if (PageIsNew(page) || PageGetSpecialSize(page) != MAXALIGN(sizeof(GinPageOpaqueData)) ||
      (GinPageGetOpaque(page)->flags & (GIN_DATA | GIN_META | GIN_LIST)) != kind)
    raise_page(index, number);
}

// Locks the page for reading.
Buffer lock_page(Relation index, BlockNumber number) {
  Buffer buffer = ReadBuffer(index, number);
  LockBuffer(buffer, GIN_SHARE);
  return buffer;
}

// Copies a page. Whoever reads the copy holds no lock, and can be interrupted.
void copy_page(Relation index, BlockNumber number, int kind, PGAlignedBlock *copy) {
  check_interrupts();
  Buffer buffer = lock_page(index, number);
  std::memcpy(copy->data, BufferGetPage(buffer), BLCKSZ);
  UnlockReleaseBuffer(buffer);
  check_page(index, copy->data, number, kind);
}

IndexTuple tuple_of(Page page, OffsetNumber offset) {
  return reinterpret_cast<IndexTuple>(PageGetItem(page, PageGetItemId(page, offset)));
}

// Gives the column and the entry of the tuple. Returns false if the reader does not need it, and for rows
// without entries.
bool entry_of(Reader *reader, IndexTuple tuple, PlacedEntry *entry) {
  entry->column = gintuple_get_attrnum(&reader->state, tuple);
  if (!reader->taker.wants(reader->taker.taker, entry->column)) return false;
  GinNullCategory category;
  entry->entry = DatumGetInt32(gintuple_get_key(&reader->state, tuple, &category));
  return category == GIN_CAT_NORM_KEY;
}

void take_places(Reader *reader, PlacedEntry entry, ItemPointer places, int count) {
  for (int i = 0; i < count; ++i) {
    entry.place = places[i];
    reader->taker.take(reader->taker.taker, entry);
  }
  if (places != nullptr) pfree(places);
}

// Reads the rows that are not in the tree yet. As in a search, the next page is locked before the last one is
// unlocked, so that no process removes it.
void read_pending(Reader *reader) {
  Buffer buffer = lock_page(reader->index, GIN_METAPAGE_BLKNO);
  BlockNumber next = GinPageGetMeta(BufferGetPage(buffer))->head;
  while (next != InvalidBlockNumber) {
    const BlockNumber number = next;
    Buffer page_buffer = lock_page(reader->index, number);
    UnlockReleaseBuffer(buffer);
    buffer = page_buffer;
    Page page = BufferGetPage(buffer);
    check_page(reader->index, page, number, GIN_LIST);
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last; ++offset) {
      IndexTuple tuple = tuple_of(page, offset);
      PlacedEntry entry = {0, 0, tuple->t_tid};
      if (entry_of(reader, tuple, &entry)) reader->taker.take(reader->taker.taker, entry);
    }
    next = GinPageGetOpaque(page)->rightlink;
  }
  UnlockReleaseBuffer(buffer);
}

// Reads the tree of an entry's places. While its root is pinned, its pages are not removed.
void read_posting_tree(Reader *reader, const PlacedEntry &entry, BlockNumber root) {
  PGAlignedBlock copy;
  Page page = copy.data;
  Buffer pinned = ReadBuffer(reader->index, root);
  copy_page(reader->index, root, GIN_DATA, &copy);
  while (!GinPageIsLeaf(page)) {
    const BlockNumber child = PostingItemGetBlockNumber(GinDataPageGetPostingItem(page, FirstOffsetNumber));
    copy_page(reader->index, child, GIN_DATA, &copy);
  }
  for (;;) {
    int count = 0;
    ItemPointerData all;
    ItemPointerSetMin(&all);
    if (!GinPageIsDeleted(page)) {
      ItemPointer places = GinDataLeafPageGetItems(page, &count, all);
      take_places(reader, entry, places, count);
    }
    const BlockNumber next = GinPageGetOpaque(page)->rightlink;
    if (next == InvalidBlockNumber) break;
    copy_page(reader->index, next, GIN_DATA, &copy);
  }
  ReleaseBuffer(pinned);
}

// Reads the tree of entries from the left to the right. A page that is split meanwhile is split to the right.
void read_tree(Reader *reader) {
  PGAlignedBlock copy;
  Page page = copy.data;
  copy_page(reader->index, GIN_ROOT_BLKNO, 0, &copy);
  while (!GinPageIsLeaf(page))
    copy_page(reader->index, GinGetDownlink(tuple_of(page, FirstOffsetNumber)), 0, &copy);
  for (;;) {
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last; ++offset) {
      IndexTuple tuple = tuple_of(page, offset);
      PlacedEntry entry = {};
      if (!entry_of(reader, tuple, &entry)) continue;
      if (GinIsPostingTree(tuple)) {
        read_posting_tree(reader, entry, GinGetPostingTree(tuple));
        continue;
      }
      int count = 0;
      ItemPointer places =
          ginReadTuple(&reader->state, static_cast<OffsetNumber>(entry.column), tuple, &count);
      take_places(reader, entry, places, count);
    }
    const BlockNumber next = GinPageGetOpaque(page)->rightlink;
    if (next == InvalidBlockNumber) return;
    copy_page(reader->index, next, 0, &copy);
  }
}

}  // namespace

void read_entries(Relation index, EntryTaker taker) {
  auto *reader = static_cast<Reader *>(palloc(sizeof(Reader)));
  reader->index = index;
  reader->taker = taker;
  initGinState(&reader->state, index);
  // Rows go from the list to the tree, never back.
  read_pending(reader);
  read_tree(reader);
  pfree(reader);
}

}  // namespace simjoin::pg
