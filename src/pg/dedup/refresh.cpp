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

// Adds the rows that have a stored pair with one of these; with `keep_pairs` the pairs, too.
void read_pairs_of(const Affected &affected, IdList ids, const char *pairs_table, bool keep_pairs) {
  const char *query = psprintf(
      "SELECT a, b, similarity FROM ONLY %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b "
      "OPERATOR(pg_catalog.=) ANY ($1)",
      pairs_table);
  run_for_ids(query, pairs_table, ids, function, [&](const StoredRow &row) {
    const StoredPair pair = stored_pair(row);
    const uint32_t a = number_of(affected, pair.a), b = number_of(affected, pair.b);
    if (keep_pairs) call_cpp([&] { affected.pairs->pairs.push_back({a, b, pair.similarity}); });
  });
}

// Returns the rows that changes begin with: new, changed and removed ones, former partners of these, and
// where the order of rows counts all that were written to.
Affected *start_affected(const DedupState &state, bool order_counts) {
  MemoryContext old = MemoryContextSwitchTo(state.context);
  auto *affected = static_cast<Affected *>(palloc0(sizeof(Affected)));
  affected->rows = own(state.context, [] { return std::make_unique<RowNumbers>(); });
  affected->pairs = own(state.context, [] { return std::make_unique<AffectedPairs>(); });
  for (const DedupRow &row : state.rows)
    if (order_counts || row.state != RowState::kept) number_of(*affected, row.id);
  for (const int64 id : state.stale) number_of(*affected, id);
  read_pairs_of(*affected, state.stale, state.pairs_table, false);
  MemoryContextSwitchTo(old);
  return affected;
}

// Adds all rows that a chain of pairs connects with an affected one, and all pairs of these.
void close_affected(Affected *affected, const char *pairs_table) {
  for (size_t done = 0; done < numbers_in(*affected);) {
    const IdList ids = ids_from(*affected, done);
    done += ids.size();
    read_pairs_of(*affected, ids, pairs_table, true);
    pfree(const_cast<int64 *>(ids.data()));
  }
}

// Returns the number of one of the affected rows, which are all known by now, and each of which is met once.
uint32_t known_number_of(const Affected &affected, int64 id) {
  const uint32_t number = number_of(affected, id);
  if (number >= affected.known) raise_repeated_id(id, function);
  return number;
}

// Gives a row the next place in the grouping.
void place_row(Affected *affected, int64 id, uint32_t number) {
  affected->places[number] = static_cast<uint32_t>(affected->count);
  affected->ids[affected->count++] = id;
}

// Gives the affected rows their places in the order of the query.
void place_rows_in_order(Affected *affected, const DedupDefinition &definition, IdList ids) {
  const char *id = quote_identifier(get_attname(definition.source, 1, false));
  const char *source = relation_name(definition.source);
  run_over_part(
      psprintf("SELECT %s::bigint FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", id, source, id), source,
      function,
      [&](const StoredRow &row) {
        const int64 id = stored_id(row);
        const uint32_t number = known_number_of(*affected, id);
        if (affected->places[number] != no_place) raise_repeated_id(id, function);
        place_row(affected, id, number);
      },
      ids_parameter(ids));
}

// Gives the affected rows that there still are their places in the grouping: in the query's order, where it
// counts.
void place_rows(Affected *affected, const DedupDefinition &definition, IdList removed, bool order_counts) {
  affected->known = numbers_in(*affected);
  affected->places = allocate<uint32_t>(affected->known);
  affected->ids = allocate<int64>(affected->known);
  std::fill_n(affected->places, affected->known, no_place);
  const IdList ids = ids_from(*affected, 0);
  if (order_counts) return place_rows_in_order(affected, definition, ids);
  for (size_t i = 0; i < ids.size(); ++i)
    if (!std::binary_search(removed.begin(), removed.end(), ids[i]))
      place_row(affected, ids[i], static_cast<uint32_t>(i));
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

// What is to be done to the view's rows.
struct ViewUpdate {
  bool *met;      // of each row number: the view has a row of it
  bool *present;  // of each row of the grouping: the view has it as it is
  GrowingArray<ItemPointerData> to_erase;
};

// Returns whether the view's row is as it should be.
bool is_as_wanted(const StoredGroup &group, const GroupRow &wanted) {
  return group.group_id == DatumGetInt64(wanted.values[1]) &&
         group.is_representative == DatumGetBool(wanted.values[2]) &&
         group.has_similarity != wanted.nulls[3] &&
         (wanted.nulls[3] || group.similarity == DatumGetFloat8(wanted.values[3]));
}

// Takes (ctid, id, group_id, is_representative, similarity) of the view.
void compare_view_row(const StoredRow &row, const Affected &affected, const RowGrouping &grouping,
                      ViewUpdate *update) {
  const StoredGroup group = stored_group(row);
  const uint32_t number = known_number_of(affected, group.id), place = affected.places[number];
  if (update->met[number]) raise_repeated_id(group.id, function);
  update->met[number] = true;
  if (place != no_place && is_as_wanted(group, group_row(grouping, place)))
    update->present[place] = true;
  else
    update->to_erase.append(group.place);
}

bool *allocate_unset(size_t count) {
  auto *flags = allocate<bool>(count);
  std::fill_n(flags, count, false);
  return flags;
}

// Returns the query for the rows of the view whose ids are in the array $1.
const char *some_rows_of_view(Relation view, const char *name) {
  const TupleDesc columns = RelationGetDescr(view);
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ctid");
  for (int i = 0; i < columns->natts; ++i)
    appendStringInfo(&query, ", %s", quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
  appendStringInfo(&query, " FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)", name,
                   quote_identifier(NameStr(TupleDescAttr(columns, 0)->attname)));
  return query.data;
}

// Replaces the view's rows that are others now. SQL does not write to materialized views; REFRESH does, under
// the lock that is held here, too.
void update_view(Relation view, const Affected &affected, const RowGrouping &grouping) {
  ViewUpdate update = {allocate_unset(affected.known), allocate_unset(grouping.rows),
                       GrowingArray<ItemPointerData>(CurrentMemoryContext)};
  const char *name = relation_name(RelationGetRelid(view));
  run_for_ids(some_rows_of_view(view, name), name, ids_from(affected, 0), function,
              [&](const StoredRow &row) { compare_view_row(row, affected, grouping, &update); });
  TableWriter *writer = open_writer(view);
  for (ItemPointerData &row : update.to_erase)
    if (!erase_row(writer, &row, GetActiveSnapshot())) raise_damaged(name);
  for (size_t row = 0; row < grouping.rows; ++row) {
    if (update.present[row]) continue;
    const GroupRow columns = group_row(grouping, row);
    write_row(writer, columns.values, columns.nulls);
  }
  close_writer(writer);
}

// Makes what was written so far visible to queries.
void advance_snapshot() {
  CommandCounterIncrement();
  PushCopiedSnapshot(GetActiveSnapshot());
  UpdateActiveSnapshotCommandId();
}

// Returns the ids of removed rows in ascending order.
IdList removed_rows(const DedupState &state) {
  GrowingArray<int64> removed(CurrentMemoryContext);
  for (const int64 id : state.stale)
    if (call_cpp([&] { return state.numbers->numbers.number_of(id); }) >= state.count()) removed.append(id);
  std::sort(removed.begin(), removed.end());
  return removed;
}

// The refresh. The current memory context, which is the caller's to delete, has all that it needs.
void apply_changes(Relation view, const DedupDefinition &definition, const OpenParts &parts,
                   const TokenIndex &index, const ChangeList &changes, RefreshFigures *figures) {
  const GroupingOptions options =
      grouping_options(definition.method, definition.keep, definition.max_group_share, function);
  const IdList changed = changes.ids;
  DedupState *state = read_state(definition, parts, &changed, function, CurrentMemoryContext);
  state->figures.rows =
      std::max<int64>(index.rows + state->figures.new_rows - state->figures.removed_rows, 0);
  const IdList removed = removed_rows(*state);
  Affected *affected = start_affected(*state, options.keep_first_row);
  remove_stale(*state);
  store_and_find_candidates(state, index);
  join_changes(state, measure_by_name(definition.measure, function), definition.threshold, nullptr);
  advance_snapshot();
  close_affected(affected, state->pairs_table);
  place_rows(affected, definition, removed, options.keep_first_row);
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
