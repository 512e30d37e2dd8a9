// Checks an index on sets against its table, as amcheck does for other indexes.
#include "pg/base/pg.hpp"

extern "C" {
#include "access/genam.h"
#include "access/gin.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "lib/bloomfilter.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

#include <cstdint>

#include "pg/base/compat.hpp"
#include "pg/base/growing_array.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/index/gin_places.hpp"
#include "pg/index/index_options.hpp"
#include "pg/index/set_keys.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "similarity_index_check";

// An entry of the index is a few bytes large. The filter is made for at least as many as there are.
constexpr int64 least_entry_bytes = 2;

// An entry of a row in the index, as bytes to hash.
struct HashedEntry {
  int32 entry;
  uint32 block;
  uint16 offset;
  uint16 column;
};
static_assert(sizeof(HashedEntry) == 12);  // no padding

// The check of one index. Rows are compared with a filter that has all entries of the index, so an entry that
// is missing may be taken for present, but not the other way round. Each check has other chances.
struct Check {
  Relation table;
  Relation index;
  Snapshot snapshot;
  bool ours[INDEX_MAX_KEYS];  // whether a column of the index is of our operator classes
  bytea **options;
  bloom_filter *filter;
  MemoryContext row_context;
  int64 rows;
};

HashedEntry hashed(const PlacedEntry &placed) {
  return {placed.entry, ItemPointerGetBlockNumberNoCheck(&placed.place),
          ItemPointerGetOffsetNumberNoCheck(&placed.place), static_cast<uint16>(placed.column)};
}

void fill_filter(Check *check) {
  const int64 bytes = int64{RelationGetNumberOfBlocks(check->index)} * BLCKSZ;
  check->filter = bloom_create(bytes / least_entry_bytes, maintenance_work_mem,
                               static_cast<uint64>(GetCurrentTimestamp()));
  const EntryTaker taker = {check,
                            [](void *to, int column) { return static_cast<Check *>(to)->ours[column - 1]; },
                            [](void *to, const PlacedEntry &placed) {
                              HashedEntry entry = hashed(placed);
                              bloom_add_element(static_cast<Check *>(to)->filter,
                                                reinterpret_cast<unsigned char *>(&entry), sizeof(entry));
                            }};
  read_entries(check->index, taker);
}

// Errors: the index does not find a row. `place` is where the index has the row, that is, its oldest version
// of the page.
[[noreturn]] void raise_missing(const Check &check, ItemPointerData place, const char *detail) {
  TupleTableSlot *slot = table_slot_create(check.table, nullptr);
  IndexFetchTableData *fetch = table_index_fetch_begin(check.table);
  bool more = false;
  ItemPointerData row = place;
  if (table_index_fetch_tuple(fetch, &row, check.snapshot, slot, &more, nullptr)) row = slot->tts_tid;
  ereport(ERROR,
          (errcode(ERRCODE_INDEX_CORRUPTED),
           errmsg("index \"%s\" does not find the row (%u,%u) of table \"%s\"",
                  RelationGetRelationName(check.index), ItemPointerGetBlockNumberNoCheck(&row),
                  ItemPointerGetOffsetNumberNoCheck(&row), RelationGetRelationName(check.table)),
           errdetail_internal("%s", detail),
           errhint("REINDEX makes the index anew. The functions of its expressions must be immutable.")));
  pg_unreachable();
}

// Errors unless the index has all entries of the set.
void check_set(const Check &check, int column, ItemPointerData place, Datum value) {
  ArrayType *array = DatumGetArrayTypeP(value);
  if (dimensions_of_flawed(array) != 0)
    raise_missing(check, place, "Its array is no set, so the index cannot have taken it.");
  const SetView set = view_set(PointerGetDatum(array), function);
  const TokenOrder *order = index_order(check.options[column - 1]);
  const SetPrefix prefix = prefix_of(*order, set);
  auto *entries = allocate<TokenCode>(prefix.keys.size());
  order->entries_of(prefix, entries);
  size_t missing = 0;
  for (size_t i = 0; i < prefix.keys.size(); ++i) {
    HashedEntry entry = hashed({column, entries[i], place});
    missing += bloom_lacks_element(check.filter, reinterpret_cast<unsigned char *>(&entry), sizeof(entry));
  }
  if (missing > 0)
    raise_missing(
        check, place,
        psprintf("The index lacks %zu of the %zu entries of its set.", missing, prefix.keys.size()));
}

// Takes a row that the index must have.
void check_row(Relation, ItemPointer place, Datum *values, bool *nulls, bool, void *state) {
  auto *check = static_cast<Check *>(state);
  in_row_context(check->row_context, [&] {
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(check->index); ++i)
      if (check->ours[i] && !nulls[i]) check_set(*check, i + 1, *place, values[i]);
  });
  ++check->rows;
}

// Checks each row that the snapshot sees and the index is for.
void check_rows(Check *check) {
  check->row_context = AllocSetContextCreate(CurrentMemoryContext, function, ALLOCSET_DEFAULT_SIZES);
  IndexInfo *info = BuildIndexInfo(check->index);
  // The scan is one of a snapshot, and only looks.
  info->ii_Concurrent = true;
  info->ii_Unique = false;
  info->ii_ExclusionOps = nullptr;
  info->ii_ExclusionProcs = nullptr;
  info->ii_ExclusionStrats = nullptr;
  constexpr bool any_strategy = true, any_start = true, progress = false;
  TableScanDesc scan =
      table_beginscan_strat(check->table, check->snapshot, 0, nullptr, any_strategy, any_start);
  table_index_build_scan(check->table, check->index, info, any_start, progress, check_row, check, scan);
  MemoryContextDelete(check->row_context);
}

// Notes the columns of our operator classes, and checks their parameters. Errors where there is none.
void read_columns(Check *check) {
  bool any = false;
  const int columns =
      check->index->rd_rel->relam == GIN_AM_OID ? IndexRelationGetNumberOfKeyAttributes(check->index) : 0;
  for (int i = 0; i < columns; ++i) {
    const Oid extract = index_getprocid(check->index, static_cast<AttrNumber>(i + 1), GIN_EXTRACTQUERY_PROC);
    check->ours[i] = is_of_set_class(extract);
    any |= check->ours[i];
  }
  if (!any)
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("\"%s\" is not an index on sets", RelationGetRelationName(check->index)),
                    errhint("Such an index has an operator class like int4_similarity_ops.")));
  check->options = RelationGetIndexAttOptions(check->index, true);
  for (int i = 0; i < columns; ++i)
    if (check->ours[i] && !are_valid_options(check->options[i]))
      ereport(ERROR,
              (errcode(ERRCODE_INDEX_CORRUPTED),
               errmsg("the parameters of index \"%s\" are damaged", RelationGetRelationName(check->index)),
               errhint("Drop the index and make it again.")));
}

// Errors unless this session can read the whole index.
void check_readable(Relation index) {
  const char *obstacle = nullptr;
  if (RELATION_IS_OTHER_TEMP(index))
    obstacle = "It is a temporary index of another session.";
  else if (!index->rd_index->indisvalid)
    obstacle = "It is not valid.";
  else if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress())
    obstacle = "It is unlogged, and the server is in recovery.";
  if (obstacle != nullptr)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("cannot check index \"%s\"", RelationGetRelationName(index)),
                    errdetail_internal("%s", obstacle)));
}

// Errors where rows that the snapshot sees may rightly be missing from an index that is younger.
void check_snapshot(Relation index, Snapshot snapshot) {
  if (!IsolationUsesXactSnapshot() || !index->rd_index->indcheckxmin ||
      TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), snapshot->xmin))
    return;
  ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                  errmsg("index \"%s\" is younger than the snapshot of the transaction",
                         RelationGetRelationName(index)),
                  errhint("Check it in another transaction.")));
}

// Errors unless the user owns the table.
void check_owns(Oid table) {
  compat::check_owns(table, get_relkind_objtype(get_rel_relkind(table)));
}

// Opens the table of the index, which the user owns, and then the index. Errors where they are gone.
void open_relations(Oid index, Check *check) {
  const Oid table = IndexGetRelation(index, true);
  if (OidIsValid(table)) check_owns(table);
  check->table = OidIsValid(table) ? try_relation_open(table, AccessShareLock) : nullptr;
  if (check->table != nullptr) check->index = index_open(index, AccessShareLock);
  if (check->table == nullptr || IndexGetRelation(index, false) != table)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("index with OID %u was dropped", index)));
}

// Checks an index. Returns the number of rows.
int64 check_index(Oid index) {
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, function, ALLOCSET_DEFAULT_SIZES);
  MemoryContext old = MemoryContextSwitchTo(context);
  auto *check = static_cast<Check *>(palloc0(sizeof(Check)));
  open_relations(index, check);
  check_readable(check->index);
  read_columns(check);
  // As in REINDEX, functions of the index have the rights of the table's owner, and cannot change settings.
  Oid user;
  int security;
  GetUserIdAndSecContext(&user, &security);
  SetUserIdAndSecContext(check->table->rd_rel->relowner, security | SECURITY_RESTRICTED_OPERATION);
  const int level = NewGUCNestLevel();
  compat::restrict_search_path();
  // Rows that the snapshot sees were in the index before it was taken.
  check->snapshot = RegisterSnapshot(GetTransactionSnapshot());
  check_snapshot(check->index, check->snapshot);
  PushActiveSnapshot(check->snapshot);
  fill_filter(check);
  check_rows(check);
  PopActiveSnapshot();
  UnregisterSnapshot(check->snapshot);
  AtEOXact_GUC(false, level);
  SetUserIdAndSecContext(user, security);
  const int64 rows = check->rows;
  index_close(check->index, AccessShareLock);
  relation_close(check->table, AccessShareLock);
  MemoryContextSwitchTo(old);
  MemoryContextDelete(context);
  return rows;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_similarity_index_check);
Datum simjoin_similarity_index_check(PG_FUNCTION_ARGS) {
  NamedArguments(fcinfo).refuse_null(function, {});
  const Oid index = PG_GETARG_OID(0);
  const char kind = get_rel_relkind(index);
  if (kind != RELKIND_INDEX && kind != RELKIND_PARTITIONED_INDEX)
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("%s: this is not an index", function),
                    errhint("Give it the name of an index, as in %s('articles_similarity_idx').", function)));
  if (kind == RELKIND_INDEX) PG_RETURN_INT64(check_index(index));
  const Oid table = IndexGetRelation(index, false);
  check_owns(table);
  int64 rows = 0;
  List *indexes = find_all_inheritors(index, NoLock, nullptr);
  ListCell *cell;
  foreach (cell, indexes)
    if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_INDEX) rows += check_index(lfirst_oid(cell));
  PG_RETURN_INT64(rows);
}
}

}  // namespace simjoin::pg
