#include "pg/guard/similar_row.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
}

#include <initializer_list>

#include "pg/guard/keys.hpp"
#include "pg/guard/versions.hpp"
#include "pg/sets/set_counts.hpp"

namespace simjoin::pg {
namespace {

// A transaction in progress that has written or removed a similar row.
struct Writer {
  TransactionId transaction;  // InvalidTransactionId: none
  uint32 token;               // of an insertion that ON CONFLICT may still take back; 0 otherwise
  RowPlace row;
};

// Looks at versions of rows.
struct Search {
  void take(Relation table, TupleTableSlot *version);
  bool is_own(Relation table, const TupleTableSlot *version) const;
  void keep(Relation table, TupleTableSlot *version, double similarity);

  const Guard *guard;
  SetView set;
  std::initializer_list<RowPlace> own;
  Upsert *upsert;     // nullptr: none
  Snapshot begun;     // when the search began
  Snapshot snapshot;  // nullptr: all rows that are not dead count, otherwise those that it sees
  AttrNumber column;  // of the table that is searched
  AttrNumber mark;    // of rows that do not count; 0: all count
  AttrNumber key;     // its primary key; 0 where that is not a single column
  SimilarRow best;
  Datum best_key;
  Oid best_key_type;  // partitions can have different primary keys
  Writer writer;
  bool met_dead;  // whether a version that can be similar has died since the search began
};

bool Search::is_own(Relation table, const TupleTableSlot *version) const {
  for (const RowPlace &place : own)
    if (place.is(table, version->tts_tid)) return true;
  return false;
}

// Returns the similarity of the version's set to the set; 0 where it has no valid set, or does not count.
double similarity_of(const Search &search, TupleTableSlot *version) {
  if (is_marked(*search.guard, search.mark, version)) return 0;
  bool isnull;
  const Datum value = slot_getattr(version, search.column, &isnull);
  if (isnull) return 0;
  ArrayType *array = DatumGetArrayTypeP(value);
  double similar = 0;
  if (dimensions_of_flawed(array) == 0) {
    const SetView other = view_set(PointerGetDatum(array), search.guard->function);
    if (other.type == search.set.type) {
      const SetCounts counts = count_sets(search.set, other);
      similar = similarity(search.guard->measure, counts.overlap, counts.left, counts.right);
    }
  }
  if (PointerGetDatum(array) != value) pfree(array);
  return similar;
}

void Search::keep(Relation table, TupleTableSlot *version, double similarity) {
  if (best.found && similarity < best.similarity) return;
  Datum value = 0;
  FormData_pg_attribute attribute = {};
  if (key != InvalidAttrNumber) {
    bool isnull;
    value = slot_getattr(version, key, &isnull);
    attribute = *TupleDescAttr(RelationGetDescr(table), key - 1);
  }
  const bool keys_differ = attribute.atttypid != best_key_type || key == InvalidAttrNumber;
  if (best.found && similarity == best.similarity &&
      (keys_differ || !key_is_smaller(table, key, value, best_key)))
    return;
  best = {true, similarity, {RelationGetRelid(table), version->tts_tid}};
  best_key_type = attribute.atttypid;
  best_key = key == InvalidAttrNumber ? 0 : datumCopy(value, attribute.attbyval, attribute.attlen);
}

// Returns whether a dead version was not dead, and can be similar, when the search began. TOAST tables still
// have the set if the snapshot sees the version. What transactions in progress have written since may be
// gone.
bool has_died(const Search &search, Relation table, TupleTableSlot *version) {
  if (table_tuple_satisfies_snapshot(table, version, search.begun))
    return similarity_of(search, version) >= search.guard->threshold;
  bool isnull;
  const TransactionId writer =
      DatumGetTransactionId(slot_getsysattr(version, MinTransactionIdAttributeNumber, &isnull));
  return !TransactionIdIsCurrentTransactionId(writer) && XidInMVCCSnapshot(writer, search.begun);
}

void Search::take(Relation table, TupleTableSlot *version) {
  if (is_own(table, version)) return;
  SnapshotData dirty = {};
  InitDirtySnapshot(dirty);
  if (!table_tuple_satisfies_snapshot(table, version, snapshot != nullptr ? snapshot : &dirty)) {
    if (snapshot == nullptr && !met_dead) met_dead = has_died(*this, table, version);
    return;
  }
  const double similar = similarity_of(*this, version);
  if (similar < guard->threshold) return;
  if (upsert != nullptr && has_key_of(upsert, table, version)) return;
  if (TransactionIdIsValid(dirty.xmin)) {
    writer = {dirty.xmin, dirty.speculativeToken, {RelationGetRelid(table), version->tts_tid}};
  } else if (TransactionIdIsValid(dirty.xmax)) {
    writer = {dirty.xmax, 0, {RelationGetRelid(table), version->tts_tid}};
  } else {
    keep(table, version, similar);
  }
}

void search_table(Search *search, Relation table) {
  check_is_plain(table, search->guard->function);
  search->column = set_column(*search->guard, table);
  search->mark = ignored_mark(*search->guard, table);
  search->key = key_column(table);
  const SoughtSets sought = {PointerGetDatum(search->set.array), search->guard->measure,
                             search->guard->threshold};
  visit_versions(table, search->column, sought, version_taker(search));
}

// Searches the table, or all partitions below it.
void search_scope(Search *search) {
  Relation scope = table_open(search->guard->scope, AccessShareLock);
  visit_tables(scope, [=](Relation table) { search_table(search, table); });
  table_close(scope, NoLock);
}

// Returns a snapshot of what is committed now, and of all that this transaction has done.
Snapshot take_snapshot() {
  Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
  snapshot->curcid = InvalidCommandId;
  return snapshot;
}

void wait_for(const Writer &writer) {
  if (writer.token != 0) {
    SpeculativeInsertionWait(writer.transaction, writer.token);
    return;
  }
  Relation table = table_open(writer.row.table, NoLock);
  ItemPointerData place = writer.row.place;
  XactLockTableWait(writer.transaction, table, &place, XLTW_RecheckExclusionConstr);
  table_close(table, NoLock);
}

}  // namespace

bool RowPlace::is(Relation other_table, const ItemPointerData &other_place) const {
  return table == RelationGetRelid(other_table) && place.ip_posid == other_place.ip_posid &&
         ItemPointerGetBlockNumberNoCheck(&place) == ItemPointerGetBlockNumberNoCheck(&other_place);
}

// Writers store their rows before they look for similar ones. So of two writers of similar rows one at least
// finds the other's row, and waits for its transaction.
//
// A version that was there when the search began can be dead when it is looked at: its row was changed, and
// the new version stored where the search had been already. Whoever changed the row has committed, so a
// snapshot that is taken afterwards sees the row. If it is similar, the search begins anew.
SimilarRow find_similar_row(const Guard &guard, Datum set, std::initializer_list<RowPlace> own,
                            Upsert *upsert) {
  const SetView view = view_set(set, guard.function);
  if (view.count == 0) return {};
  for (;;) {
    Search search = {};
    search.guard = &guard;
    search.set = view;
    search.own = own;
    search.upsert = upsert;
    search.begun = take_snapshot();
    search_scope(&search);
    UnregisterSnapshot(search.begun);
    if (search.best.found) return search.best;
    if (TransactionIdIsValid(search.writer.transaction)) {
      wait_for(search.writer);
      continue;
    }
    if (!search.met_dead) return {};
    search.snapshot = take_snapshot();
    search_scope(&search);
    UnregisterSnapshot(search.snapshot);
    if (!search.best.found) return {};
  }
}

}  // namespace simjoin::pg
