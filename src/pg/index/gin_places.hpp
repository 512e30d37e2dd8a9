// All that a GIN index has: its entries, and the places of the rows that have them.
#pragma once

#include "pg/base/pg.hpp"

extern "C" {
#include "storage/itemptr.h"
#include "utils/relcache.h"
}

namespace simjoin::pg {

// An entry of one row. `column` is the number of the index's column.
struct PlacedEntry {
  int column;
  int32 entry;
  ItemPointerData place;
};

// Takes entries.
struct EntryTaker {
  void *taker;
  bool (*wants)(void *taker, int column);  // whether the column's entries, which are integers, are taken
  void (*take)(void *taker, const PlacedEntry &entry);  // raises no error
};

// Hands over each entry that is in the index when the call begins and for a row that stays, some twice. The
// caller has locked the index. Errors, with ERRCODE_INDEX_CORRUPTED, where a page is none of a GIN index.
void read_entries(Relation index, EntryTaker taker);

}  // namespace simjoin::pg
