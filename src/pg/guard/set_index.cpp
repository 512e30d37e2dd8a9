#include "pg/guard/set_index.hpp"

extern "C" {
#include "access/genam.h"
#include "access/gin.h"
#include "access/gin_private.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/base/compat_bitmap.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/statements.hpp"
#include "pg/index/index_options.hpp"
#include "pg/index/set_keys.hpp"
#include "pg/index/set_query.hpp"

namespace simjoin::pg {
namespace {

// The strategy of the operator that looks for similar sets, in our operator classes.
constexpr StrategyNumber similar_strategy = 1;

// Returns whether the column of the index has the entries that finding the sets takes.
bool serves(Relation index, int column, const SoughtSets &sought) {
  TokenOrder *order = index_order(RelationGetIndexAttOptions(index, false)[column - 1]);
  const SetView set = view_set(sought.set, "similarity index");
  const Bounds wanted(sought.measure, sought.threshold);
  const SetPrefix keys = keys_to_look_up(*order, set);
  const IndexLookup::Kind kind = call_cpp([&] { return order->lookup(keys, wanted).kind; });
  free_keys(keys);
  free_view(set, sought.set);
  return kind != IndexLookup::Kind::everything;
}

// Returns the number of the index column that finds all such sets in the table's column, 0 where there is
// none.
int usable_column(Relation index, AttrNumber column, const SoughtSets &sought) {
  const Form_pg_index form = index->rd_index;
  if (index->rd_rel->relam != GIN_AM_OID || !form->indisvalid ||
      !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr))
    return 0;
  for (int i = 1; i <= form->indnkeyatts; ++i)
    if (form->indkey.values[i - 1] == column &&
        is_of_set_class(index_getprocid(index, static_cast<AttrNumber>(i), GIN_EXTRACTQUERY_PROC)) &&
        serves(index, i, sought))
      return i;
  return 0;
}

// Moves pending entries into the index, as VACUUM does. A search reads all that are pending, which takes
// longer: each row of a bulk load would read the entries of thousands of rows before it.
void move_pending_entries(Relation index) {
  GinStatsData stats;
  ginGetStats(index, &stats);
  if (stats.nPendingPages == 0) return;
  constexpr bool all = false, note_free_pages = true, wait = false;
  GinState state;
  initGinState(&state, index);
  ginInsertCleanup(&state, all, note_free_pages, wait, nullptr);
}

TIDBitmap *search(Relation index, int column, const SoughtSets &sought) {
  // GIN calls the functions of its class, and none of the key.
  ScanKeyData key = {};
  key.sk_attno = static_cast<AttrNumber>(column);
  key.sk_strategy = similar_strategy;
  key.sk_argument = make_similarity_query(sought.set, sought.measure, sought.threshold);
  TIDBitmap *places = tbm_create(work_mem * Size{1024}, nullptr);
  // The bitmap has the entries of all transactions, for any snapshot.
  IndexScanDesc scan = compat::begin_bitmap_scan(index, SnapshotAny, 1);
  index_rescan(scan, &key, 1, nullptr, 0);
  index_getbitmap(scan, places);
  index_endscan(scan);
  return places;
}

// Returns an index that finds all such sets in the table's column, opened, and the number of its column.
// Returns nullptr where there is none.
Relation open_usable_index(Relation table, AttrNumber column, const SoughtSets &sought, int *number) {
  Relation usable = nullptr;
  List *indexes = RelationGetIndexList(table);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    *number = usable_column(index, column, sought);
    if (*number > 0) {
      usable = index;
      break;
    }
    index_close(index, AccessShareLock);
  }
  list_free(indexes);
  return usable;
}

}  // namespace

TIDBitmap *find_places(Relation table, AttrNumber column, const SoughtSets &sought) {
  int number;
  Relation index = open_usable_index(table, column, sought, &number);
  if (index == nullptr) return nullptr;
  const int level = NewGUCNestLevel();
  // All rows are needed, even if the session has set a limit.
  if (GinFuzzySearchLimit != 0) set_until_end("gin_fuzzy_search_limit", "0");
  move_pending_entries(index);
  TIDBitmap *places = search(index, number, sought);
  AtEOXact_GUC(true, level);
  index_close(index, AccessShareLock);
  return places;
}

bool has_index(Relation table, AttrNumber column, Measure measure, double threshold) {
  constexpr size_t tokens = 50;
  Datum set[tokens];
  for (size_t i = 0; i < tokens; ++i) set[i] = Int32GetDatum(static_cast<int32>(i));
  const SoughtSets sought = {PointerGetDatum(construct_token_array(set, tokens, TokenType::int4)), measure,
                             threshold};
  int number;
  Relation index = open_usable_index(table, column, sought, &number);
  if (index == nullptr) return false;
  index_close(index, AccessShareLock);
  return true;
}

}  // namespace simjoin::pg
