#include "pg/dedup_refresh.hpp"

extern "C" {
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>
#include <iterator>
#include <memory>

#include "core/memory_shares.hpp"
#include "pg/compat.hpp"
#include "pg/dedup_changes.hpp"
#include "pg/dedup_index.hpp"
#include "pg/dedup_join.hpp"
#include "pg/dedup_triggers.hpp"
#include "pg/dedup_view.hpp"
#include "pg/duplicate_grouping.hpp"
#include "pg/query_receiver.hpp"
#include "pg/settings.hpp"
#include "pg/table_writer.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "refresh_dedup_view";
// Where more than one row in so many has changed, all are read (1 M rows of 20 integers: then it takes as
// long as the other way).
constexpr int64 most_changed_share = 200;
constexpr size_t few_changes = 100;  // but so many are never too many
constexpr uint32_t no_place = UINT32_MAX;
constexpr size_t pairs_at_once = size_t{1} << 20;  // between looks for interrupts

constexpr Oid view_types[] = {INT8OID, INT8OID, BOOLOID, FLOAT8OID};

// A similar pair of rows, by their numbers.
struct NumberedPair {
  uint32_t a;
  uint32_t b;
  double similarity;
};

struct AffectedPairs {
  AffectedPairs() {
    memory.set_limit(pair_share(memory_limit_bytes()),
                     {"the pairs of changed rows and their groups need",
                      "fill the view anew with REFRESH MATERIALIZED VIEW", " that the join leaves"});
  }

  MemoryCounter memory;
  Buffer<NumberedPair> pairs{memory};
};

// The rows whose groups may be others now, and all of their pairs.
struct Affected {
  RowNumbers *rows;  // the removed ones among them
  bool keep_pairs;   // of those that are read
  AffectedPairs *pairs;
  uint32_t *places;  // of each row number, its row of the grouping; removed ones have none
  int64 *ids;        // of each row of the grouping
  size_t count;
};

uint32_t number_of(const Affected &affected, int64 id) {
  return call_cpp([&] { return affected.rows->numbers.number_of(id); });
}

size_t numbers_in(const Affected &affected) {
  return affected.rows->numbers.count();
}

// Returns a copy of the ids with the numbers from `begin` on.
IdList ids_from(const Affected &affected, size_t begin) {
  const size_t count = numbers_in(affected) - begin;
  auto *ids = allocate<int64>(count);
  std::copy_n(affected.rows->numbers.nodes().data() + begin, count, ids);
  return {ids, count};
}

// Takes (a, b, similarity).
bool receive_pair(TupleTableSlot *slot, DestReceiver *self) {
  auto *affected = static_cast<Affected *>(reinterpret_cast<IdReceiver *>(self)->context);
  bool isnull;
  const uint32_t a = number_of(*affected, DatumGetInt64(slot_getattr(slot, 1, &isnull)));
  const uint32_t b = number_of(*affected, DatumGetInt64(slot_getattr(slot, 2, &isnull)));
  if (!affected->keep_pairs) return true;
  const double similarity = DatumGetFloat8(slot_getattr(slot, 3, &isnull));
  call_cpp([&] { affected->pairs->pairs.push_back({a, b, similarity}); });
  return true;
}

void read_pairs_of(Affected *affected, IdList ids, const char *pairs_table) {
  run_for_ids(psprintf("SELECT a, b, similarity FROM %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b "
                       "OPERATOR(pg_catalog.=) ANY ($1)",
                       pairs_table),
              ids, receive_pair, affected, function);
}

// Returns the rows that changes begin with: new, changed and removed ones, former partners of these, and
// where the order of rows counts all that were written to.
Affected *start_affected(const DedupState &state, bool order_counts) {
  MemoryContext old = MemoryContextSwitchTo(state.context);
  auto *affected = static_cast<Affected *>(palloc0(sizeof(Affected)));
  affected->rows = own(state.context, [] { return std::make_unique<RowNumbers>(); });
  affected->pairs = own(state.context, [] { return std::make_unique<AffectedPairs>(); });
  for (size_t row = 0; row < state.count; ++row)
    if (order_counts || state.rows[row].state != RowState::kept) number_of(*affected, state.rows[row].id);
  for (size_t i = 0; i < state.stale_count; ++i) number_of(*affected, state.stale[i]);
  read_pairs_of(affected, {state.stale, state.stale_count}, state.pairs_table);
  MemoryContextSwitchTo(old);
  return affected;
}

// Adds all rows that a chain of pairs connects with an affected one, and all pairs of these.
void close_affected(Affected *affected, const char *pairs_table) {
  affected->keep_pairs = true;
  for (size_t done = 0; done < numbers_in(*affected);) {
    const IdList ids = ids_from(*affected, done);
    done += ids.count;
    read_pairs_of(affected, ids, pairs_table);
    pfree(const_cast<int64 *>(ids.ids));
  }
}

bool receive_ordered_id(TupleTableSlot *slot, DestReceiver *self) {
  auto *affected = static_cast<Affected *>(reinterpret_cast<IdReceiver *>(self)->context);
  bool isnull;
  const Datum value = slot_getattr(slot, 1, &isnull);
  const int64 id = DatumGetInt64(value);
  affected->places[number_of(*affected, id)] = static_cast<uint32_t>(affected->count);
  affected->ids[affected->count++] = id;
  return true;
}

// Gives the affected rows that there still are their places in the grouping: in the query's order, where it
// counts.
void place_rows(Affected *affected, const DedupDefinition &definition, const int64 *removed,
                size_t removed_count, bool order_counts) {
  const size_t numbers = numbers_in(*affected);
  affected->places = allocate<uint32_t>(numbers);
  affected->ids = allocate<int64>(numbers);
  std::fill_n(affected->places, numbers, no_place);
  const IdList ids = ids_from(*affected, 0);
  if (order_counts) {
    const char *id = quote_identifier(get_attname(definition.source, 1, false));
    run_for_ids_at_once(psprintf("SELECT %s::bigint FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", id,
                                 relation_name(definition.source), id),
                        ids, receive_ordered_id, affected, function);
    return;
  }
  for (size_t i = 0; i < ids.count; ++i) {
    if (std::binary_search(removed, removed + removed_count, ids.ids[i])) continue;
    affected->places[i] = static_cast<uint32_t>(affected->count);
    affected->ids[affected->count++] = ids.ids[i];
  }
}

RowGrouping *group_affected(const Affected &affected, const GroupingOptions &options, int64 all_rows,
                            MemoryContext context) {
  RowGrouping *grouping =
      start_grouping(options, create_grouping_work(context), affected.ids, affected.count, function, context);
  const Buffer<NumberedPair> &pairs = affected.pairs->pairs;
  for (size_t begin = 0; begin < pairs.size(); begin += pairs_at_once) {
    CHECK_FOR_INTERRUPTS();
    call_cpp([&] {
      const size_t end = std::min(begin + pairs_at_once, pairs.size());
      for (size_t i = begin; i < end; ++i) {
        const NumberedPair &pair = pairs[i];
        const uint32_t a = affected.places[pair.a], b = affected.places[pair.b];
        if (a != no_place && b != no_place) grouping->work->grouper->add_pair(a, b, pair.similarity);
      }
    });
  }
  form_groups(grouping, static_cast<size_t>(all_rows));
  return grouping;
}

// Compares the view's rows with the new groups.
struct ViewUpdate {
  const Affected *affected;
  const RowGrouping *grouping;
  bool *present;  // of each row of the grouping: the view has it as it is
  ItemPointerData *to_erase;
  size_t erase_count;
};

// Takes (ctid, id, group_id, is_representative, similarity) of the view.
bool receive_view_row(TupleTableSlot *slot, DestReceiver *self) {
  auto *update = static_cast<ViewUpdate *>(reinterpret_cast<IdReceiver *>(self)->context);
  slot_getallattrs(slot);
  const Datum *values = slot->tts_values;
  const uint32_t row = update->affected->places[number_of(*update->affected, DatumGetInt64(values[1]))];
  if (row != no_place) {
    const GroupRow wanted = group_row(*update->grouping, row);
    if (DatumGetInt64(values[2]) == DatumGetInt64(wanted.values[1]) &&
        DatumGetBool(values[3]) == DatumGetBool(wanted.values[2]) && slot->tts_isnull[4] == wanted.nulls[3] &&
        (wanted.nulls[3] || DatumGetFloat8(values[4]) == DatumGetFloat8(wanted.values[3]))) {
      update->present[row] = true;
      return true;
    }
  }
  ItemPointerCopy(reinterpret_cast<ItemPointer>(DatumGetPointer(values[0])),
                  &update->to_erase[update->erase_count++]);
  return true;
}

// Replaces the view's rows that are others now. SQL does not write to materialized views; REFRESH does, under
// the lock that is held here, too.
void update_view(Relation view, const Affected &affected, const RowGrouping &grouping) {
  ViewUpdate update = {&affected, &grouping, allocate<bool>(grouping.rows),
                       allocate<ItemPointerData>(numbers_in(affected)), 0};
  std::fill_n(update.present, grouping.rows, false);
  const char *columns[std::size(view_types)];
  for (int i = 0; i < static_cast<int>(std::size(view_types)); ++i)
    columns[i] = quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(view), i)->attname));
  run_for_ids(
      psprintf("SELECT ctid, %s, %s, %s, %s FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", columns[0],
               columns[1], columns[2], columns[3], relation_name(RelationGetRelid(view)), columns[0]),
      ids_from(affected, 0), receive_view_row, &update, function);
  TableWriter *writer = open_writer(view);
  for (size_t i = 0; i < update.erase_count; ++i) erase_row(writer, &update.to_erase[i], GetActiveSnapshot());
  for (size_t row = 0; row < grouping.rows; ++row) {
    if (update.present[row]) continue;
    const GroupRow columns_of_row = group_row(grouping, row);
    write_row(writer, columns_of_row.values, columns_of_row.nulls);
  }
  close_writer(writer);
}

// Makes what was written so far visible to queries.
void advance_snapshot() {
  CommandCounterIncrement();
  PushCopiedSnapshot(GetActiveSnapshot());
  UpdateActiveSnapshotCommandId();
}

// Gives the ids of removed rows in ascending order.
size_t removed_rows(const DedupState &state, int64 **removed) {
  *removed = allocate<int64>(state.stale_count);
  size_t count = 0;
  for (size_t i = 0; i < state.stale_count; ++i) {
    const int64 id = state.stale[i];
    if (call_cpp([&] { return state.numbers->numbers.number_of(id); }) >= state.count)
      (*removed)[count++] = id;
  }
  std::sort(*removed, *removed + count);
  return count;
}

// The refresh. The current memory context, which is the caller's to delete, has all that it needs.
void apply_changes(Relation view, const DedupDefinition &definition, const TokenIndex &index,
                   const ChangeList &changes, RefreshFigures *figures) {
  const GroupingOptions options =
      grouping_options(definition.method, definition.keep, definition.max_group_share, function);
  const IdList changed = {changes.ids, changes.id_count};
  DedupState *state = read_state(definition, &changed, function, CurrentMemoryContext);
  state->figures.rows = index.rows + state->figures.new_rows - state->figures.removed_rows;
  int64 *removed;
  const size_t removed_count = removed_rows(*state, &removed);
  Affected *affected = start_affected(*state, options.keep_first_row);
  remove_stale(*state);
  store_and_find_candidates(state, index);
  join_changes(state, measure_by_name(definition.measure, function), definition.threshold, nullptr);
  advance_snapshot();
  close_affected(affected, state->pairs_table);
  place_rows(affected, definition, removed, removed_count, options.keep_first_row);
  if (options.keep_first_row) state->figures.read_rows += static_cast<int64>(affected->count);
  update_view(view, *affected,
              *group_affected(*affected, options, state->figures.rows, CurrentMemoryContext));
  store_row_count(definition, state->figures.rows);
  forget_changes(definition.changes, changes, GetActiveSnapshot(), false);
  PopActiveSnapshot();
  tuplestore_end(state->sets);
  *figures = state->figures;
}

// Returns whether a refresh from the changes is possible and pays, and gives what it needs.
bool can_apply_changes(const DedupDefinition &definition, TokenIndex *index, ChangeList *changes) {
  const char *obstacle = obstacle_to_tracking(definition.source);
  if (obstacle != nullptr) {
    ereport(NOTICE, (errmsg("%s: all rows are read, since changes are not tracked: %s", function, obstacle),
                     errhint("Make the view anew, or without tracking of changes.")));
    return false;
  }
  *index = read_token_index(definition, CurrentMemoryContext);
  if (!index->exists || needs_new_order(*index, index->rows)) return false;
  const auto most = std::max(few_changes, static_cast<size_t>(index->rows / most_changed_share));
  *changes = read_changes(definition.changes, GetActiveSnapshot(), most);
  return !changes->all;
}

}  // namespace

bool refresh_from_changes(Oid view, const DedupDefinition &definition, RefreshFigures *figures) {
  compat::check_may_refresh(view);
  Relation relation = table_open(view, ExclusiveLock);
  if (!RelationIsPopulated(relation)) {
    table_close(relation, NoLock);
    return false;
  }
  check_layout(relation, RELKIND_MATVIEW, view_types, std::size(view_types), "a dedup view");
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dedup view", ALLOCSET_DEFAULT_SIZES);
  MemoryContext old = MemoryContextSwitchTo(context);
  // As in REFRESH, the query's functions have the rights of the view's owner, and cannot change settings.
  Oid user;
  int security;
  GetUserIdAndSecContext(&user, &security);
  SetUserIdAndSecContext(relation->rd_rel->relowner, security | SECURITY_RESTRICTED_OPERATION);
  const int level = NewGUCNestLevel();
  compat::restrict_search_path();
  lock_state(definition);
  TokenIndex index;
  ChangeList changes;
  const bool possible = can_apply_changes(definition, &index, &changes);
  if (possible) apply_changes(relation, definition, index, changes, figures);
  PopActiveSnapshot();
  AtEOXact_GUC(false, level);
  SetUserIdAndSecContext(user, security);
  MemoryContextSwitchTo(old);
  MemoryContextDelete(context);
  table_close(relation, NoLock);
  return possible;
}

}  // namespace simjoin::pg
