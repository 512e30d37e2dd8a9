#include "pg/join/estimate/kept_sketches.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/memutils.h"
}

namespace simjoin::pg {
namespace {

// A sketch that the session keeps, and the row of pg_statistic that it was made from: as long as that is the
// same version of the row, the sketch is good.
struct KeptSketch {
  MemoryContext context;  // NULL where the place is free
  ItemPointerData place;
  TransactionId writer;
  Oid table;
  AttrNumber column;
  bool inherited;
  TokenType type;
  uint64 used;  // when it was asked for last
  const SetSketch *sketch;
};

KeptSketch kept[kept_sketches];
uint64 uses;

KeptSketch identify(HeapTuple statistics, TokenType type) {
  KeptSketch identity = {};
  identity.place = statistics->t_self;
  identity.writer = HeapTupleHeaderGetRawXmin(statistics->t_data);
  const auto *form = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(statistics));
  identity.table = form->starelid;
  identity.column = form->staattnum;
  identity.inherited = form->stainherit;
  identity.type = type;
  return identity;
}

bool is_of(const KeptSketch &a, const KeptSketch &b) {
  return a.table == b.table && a.column == b.column && a.inherited == b.inherited && a.type == b.type &&
         a.writer == b.writer &&
         ItemPointerEquals(const_cast<ItemPointer>(&a.place), const_cast<ItemPointer>(&b.place));
}

}  // namespace

bool can_be_kept(HeapTuple statistics) {
  return HeapTupleIsValid(statistics) && ItemPointerIsValid(&statistics->t_self);
}

const SetSketch *find_kept_sketch(HeapTuple statistics, TokenType type) {
  if (!can_be_kept(statistics)) return nullptr;
  const KeptSketch wanted = identify(statistics, type);
  for (KeptSketch &entry : kept) {
    if (entry.context == nullptr || !is_of(entry, wanted)) continue;
    entry.used = ++uses;
    return entry.sketch;
  }
  return nullptr;
}

void keep_sketch(HeapTuple statistics, TokenType type, MemoryContext context, const SetSketch *sketch) {
  KeptSketch *place = &kept[0];
  for (KeptSketch &other : kept)
    if (place->context != nullptr && (other.context == nullptr || other.used < place->used)) place = &other;
  MemoryContextSetParent(context, CacheMemoryContext);
  if (place->context != nullptr) MemoryContextDelete(place->context);
  *place = identify(statistics, type);
  place->context = context;
  place->sketch = sketch;
  place->used = ++uses;
}

}  // namespace simjoin::pg
