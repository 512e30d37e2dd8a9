#include "pg/dedup/refresh.hpp"

extern "C" {
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
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

#include "core/base/memory_shares.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/compat.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/table_writer.hpp"
#include "pg/dedup/changes.hpp"
#include "pg/dedup/index.hpp"
#include "pg/dedup/join.hpp"
#include "pg/dedup/triggers.hpp"
#include "pg/functions/duplicate_grouping.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "refresh_dedup_view";
// Where more than one row in so many has changed, all are read (1 M rows of 20 integers: then it takes as
// long as the other way).
constexpr int64 most_changed_share = 200;
constexpr size_t few_changes = 100;     // but so many are never too many
constexpr size_t bytes_of_change = 64;  // of the limit of memory
constexpr uint32_t no_place = UINT32_MAX;
constexpr size_t pairs_at_once = size_t{1} << 20;  // between looks for interrupts

// A similar pair of rows, by their numbers.
struct NumberedPair {
  uint32_t a;
  uint32_t b;
  double similarity;
};

struct AffectedPairs {
  AffectedPairs() {
    memory.set_limit(pair_share(Settings::memory_limit()),
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
  size_t known;      // row numbers, once all are known
  uint32_t *places;  // of each of them, its row of the grouping; removed ones have none
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
void receive_pair(void *context, const StoredRow &row) {
  auto *affected = static_cast<Affected *>(context);
  const StoredPair pair = stored_pair(row);
  const uint32_t a = number_of(*affected, pair.a), b = number_of(*affected, pair.b);
  if (affected->keep_pairs) call_cpp([&] { affected->pairs->pairs.push_back({a, b, pair.similarity}); });
}

void read_pairs_of(Affected *affected, IdList ids, const char *pairs_table) {
  const char *query = psprintf(
      "SELECT a, b, similarity FROM ONLY %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b "
      "OPERATOR(pg_catalog.=) ANY ($1)",
      pairs_table);
  run_for_ids({query, pairs_table, receive_pair, affected}, ids, function);
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

// Returns the number of one of the affected rows, which are all known by now, and each of which is met once.
uint32_t known_number_of(const Affected &affected, size_t known, int64 id) {
  const uint32_t number = number_of(affected, id);
  if (number >= known) raise_repeated_id(id, function);
  return number;
}

// Takes (id) of the view's query.
void receive_ordered_id(void *context, const StoredRow &row) {
  auto *affected = static_cast<Affected *>(context);
  const int64 id = stored_id(row);
  uint32_t *place = &affected->places[known_number_of(*affected, affected->known, id)];
  if (*place != no_place) raise_repeated_id(id, function);
  *place = static_cast<uint32_t>(affected->count);
  affected->ids[affected->count++] = id;
}

// Gives the affected rows that there still are their places in the grouping: in the query's order, where it
// counts.
void place_rows(Affected *affected, const DedupDefinition &definition, const int64 *removed,
                size_t removed_count, bool order_counts) {
  affected->known = numbers_in(*affected);
  affected->places = allocate<uint32_t>(affected->known);
  affected->ids = allocate<int64>(affected->known);
  std::fill_n(affected->places, affected->known, no_place);
  const IdList ids = ids_from(*affected, 0);
  if (order_counts) {
    const char *id = quote_identifier(get_attname(definition.source, 1, false));
    const char *source = relation_name(definition.source);
    run_for_ids_at_once(
        {psprintf("SELECT %s::bigint FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", id, source, id),
         source, receive_ordered_id, affected},
        ids, function);
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
  bool *met;      // of each row number: the view has a row of it
  bool *present;  // of each row of the grouping: the view has it as it is
  ItemPointerData *to_erase;
  size_t erase_count;
};

// Returns whether the view's row is as it should be.
bool is_as_wanted(const StoredGroup &group, const GroupRow &wanted) {
  return group.group_id == DatumGetInt64(wanted.values[1]) &&
         group.is_representative == DatumGetBool(wanted.values[2]) &&
         group.has_similarity != wanted.nulls[3] &&
         (wanted.nulls[3] || group.similarity == DatumGetFloat8(wanted.values[3]));
}

// Takes (ctid, id, group_id, is_representative, similarity) of the view.
void receive_view_row(void *context, const StoredRow &row) {
  auto *update = static_cast<ViewUpdate *>(context);
  const Affected &affected = *update->affected;
  const StoredGroup group = stored_group(row);
  const uint32_t number = known_number_of(affected, affected.known, group.id),
                 place = affected.places[number];
  if (update->met[number]) raise_repeated_id(group.id, function);
  update->met[number] = true;
  if (place != no_place && is_as_wanted(group, group_row(*update->grouping, place)))
    update->present[place] = true;
  else
    update->to_erase[update->erase_count++] = group.place;
}

bool *allocate_unset(size_t count) {
  auto *flags = allocate<bool>(count);
  std::fill_n(flags, count, false);
  return flags;
}

// Replaces the view's rows that are others now. SQL does not write to materialized views; REFRESH does, under
// the lock that is held here, too.
void update_view(Relation view, const Affected &affected, const RowGrouping &grouping) {
  ViewUpdate update = {&affected,
                       &grouping,
                       allocate_unset(affected.known),
                       allocate_unset(grouping.rows),
                       allocate<ItemPointerData>(affected.known),
                       0};
  const TupleDesc columns = RelationGetDescr(view);
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ctid");
  for (int i = 0; i < columns->natts; ++i)
    appendStringInfo(&query, ", %s", quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
  const char *name = relation_name(RelationGetRelid(view));
  appendStringInfo(&query, " FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", name,
                   quote_identifier(NameStr(TupleDescAttr(columns, 0)->attname)));
  run_for_ids({query.data, name, receive_view_row, &update}, ids_from(affected, 0), function);
  TableWriter *writer = open_writer(view);
  for (size_t i = 0; i < update.erase_count; ++i)
    if (!erase_row(writer, &update.to_erase[i], GetActiveSnapshot())) raise_damaged(name);
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
void apply_changes(Relation view, const DedupDefinition &definition, const OpenParts &parts,
                   const TokenIndex &index, const ChangeList &changes, RefreshFigures *figures) {
  const GroupingOptions options =
      grouping_options(definition.method, definition.keep, definition.max_group_share, function);
  const IdList changed = {changes.ids, changes.id_count};
  DedupState *state = read_state(definition, parts, &changed, function, CurrentMemoryContext);
  state->figures.rows =
      std::max<int64>(index.rows + state->figures.new_rows - state->figures.removed_rows, 0);
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
  forget_changes(parts.changes, changes, GetActiveSnapshot(), false);
  PopActiveSnapshot();
  tuplestore_end(state->sets);
  *figures = state->figures;
}

// Returns whether a refresh from the changes is possible and pays, and gives what it needs.
bool can_apply_changes(const DedupDefinition &definition, const OpenParts &parts, TokenIndex *index,
                       ChangeList *changes) {
  const Measure measure = measure_by_name(definition.measure, function);
  check_similarity(definition.threshold, measure, function);
  const char *obstacle = obstacle_to_tracking(definition.source);
  if (obstacle != nullptr) {
    ereport(NOTICE, (errmsg("%s: all rows are read, since changes are not tracked: %s", function, obstacle),
                     errhint("Make the view anew, or without tracking of changes.")));
    return false;
  }
  *index = read_token_index(definition, CurrentMemoryContext);
  if (!index->exists || needs_new_order(*index, index->rows)) return false;
  const auto most = std::max(few_changes, static_cast<size_t>(index->rows / most_changed_share));
  *changes = read_changes(parts.changes, GetActiveSnapshot(),
                          std::min(most, Settings::memory_limit() / bytes_of_change));
  return !changes->all;
}

}  // namespace

bool refresh_from_changes(Relation view, const DedupDefinition &definition, RefreshFigures *figures) {
  if (!definition.tracked() || !RelationIsPopulated(view)) return false;
  check_view(view);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dedup view", ALLOCSET_DEFAULT_SIZES);
  MemoryContext old = MemoryContextSwitchTo(context);
  // As in REFRESH, the query's functions have the rights of the view's owner, and cannot change settings.
  Oid user;
  int security;
  GetUserIdAndSecContext(&user, &security);
  SetUserIdAndSecContext(view->rd_rel->relowner, security | SECURITY_RESTRICTED_OPERATION);
  const int level = NewGUCNestLevel();
  compat::restrict_search_path();
  const OpenParts parts = open_parts(definition);
  TokenIndex index;
  ChangeList changes;
  const bool possible = can_apply_changes(definition, parts, &index, &changes);
  if (possible) apply_changes(view, definition, parts, index, changes, figures);
  close_parts(parts);
  AtEOXact_GUC(false, level);
  SetUserIdAndSecContext(user, security);
  MemoryContextSwitchTo(old);
  MemoryContextDelete(context);
  return possible;
}

}  // namespace simjoin::pg
