// Differences between the supported versions of PostgreSQL, 14 to 18, in scans of an index for a bitmap.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "nodes/tidbitmap.h"
}

namespace simjoin::pg::compat {

// Begins a scan of an index for a bitmap. PostgreSQL 18 added figures for EXPLAIN.
inline IndexScanDesc begin_bitmap_scan(Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
  return index_beginscan_bitmap(index, snapshot, nullptr, keys);
#else
  return index_beginscan_bitmap(index, snapshot, keys);
#endif
}

// Reads a bitmap page by page. PostgreSQL 18 (bfe56cdf9a4, 944e81bf99d) split the iterator from its result,
// and the result from the places in it.
class BitmapPages {
#if PG_VERSION_NUM >= 180000
 public:
  explicit BitmapPages(TIDBitmap *bitmap) : iterator_(tbm_begin_private_iterate(bitmap)) {}

  // Goes to the next page. Returns false at the end.
  bool next() {
    if (!tbm_private_iterate(iterator_, &result_)) return false;
    count_ = result_.lossy ? 0 : tbm_extract_page_tuple(&result_, offsets_, MaxHeapTuplesPerPage);
    return true;
  }
  void end() {
    tbm_end_private_iterate(iterator_);
  }

  BlockNumber page() const {
    return result_.blockno;
  }
  // Returns whether all places of the page are meant.
  bool is_lossy() const {
    return result_.lossy;
  }
  // The number of places of a page that is not lossy, and the places.
  int count() const {
    return count_;
  }
  OffsetNumber offset(int i) const {
    return offsets_[i];
  }

 private:
  TBMPrivateIterator *iterator_;
  TBMIterateResult result_;
  OffsetNumber offsets_[MaxHeapTuplesPerPage];
  int count_ = 0;
#else
 public:
  explicit BitmapPages(TIDBitmap *bitmap) : iterator_(tbm_begin_iterate(bitmap)) {}

  bool next() {
    return (result_ = tbm_iterate(iterator_)) != nullptr;
  }
  void end() {
    tbm_end_iterate(iterator_);
  }

  BlockNumber page() const {
    return result_->blockno;
  }
  bool is_lossy() const {
    return result_->ntuples < 0;
  }
  int count() const {
    return result_->ntuples < 0 ? 0 : result_->ntuples;
  }
  OffsetNumber offset(int i) const {
    return result_->offsets[i];
  }

 private:
  TBMIterator *iterator_;
  TBMIterateResult *result_ = nullptr;
#endif
};

}  // namespace simjoin::pg::compat
