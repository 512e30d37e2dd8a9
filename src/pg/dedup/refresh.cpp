#include "pg/dedup/refresh.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>

#include "pg/base/compat.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/settings.hpp"
#include "pg/base/statements.hpp"
#include "pg/dedup/affected.hpp"
#include "pg/dedup/changes.hpp"
#include "pg/dedup/entities.hpp"
#include "pg/dedup/index.hpp"
#include "pg/dedup/join.hpp"
#include "pg/dedup/table_triggers.hpp"
#include "pg/dedup/triggers.hpp"
#include "pg/dedup/view_rows.hpp"
#include "pg/dedup/view_verdicts.hpp"

namespace simjoin::pg {
namespace {

// Where more than one row in most_changed_share has changed, all rows are read. Both ways then take the same
// time (1 M rows of 20 integers).
constexpr int64 most_changed_share = 200;
constexpr size_t few_changes = 100;     // this many changed rows are never too many
constexpr size_t bytes_of_change = 64;  // of the memory limit, for each changed row

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

// Refreshes the view. All memory belongs to the current context, which the caller deletes.
void apply_changes(Relation view, const DedupDefinition &definition, const OpenParts &parts,
                   const TokenIndex &index, const ChangeList &changes, RefreshFigures *figures) {
  const GroupingOptions options =
      grouping_options(definition.method, definition.keep, definition.max_group_share,
                       definition.has_verdicts(), refresh_function);
  const IdList changed = changes.ids;
  DedupState *state = read_state(definition, parts, &changed, refresh_function, CurrentMemoryContext);
  state->figures.rows =
      std::max<int64>(index.rows + state->figures.new_rows - state->figures.removed_rows, 0);
  const IdList removed = removed_rows(*state);
  Affected *affected = start_affected(*state, options.keep_first_row);
  remove_stale(*state);
  store_and_find_candidates(state, index);
  join_changes(state, nullptr);
  advance_snapshot();
  ViewVerdicts all_verdicts;
  const ViewVerdicts *verdicts = nullptr;
  if (definition.has_verdicts()) {
    all_verdicts = read_view_verdicts(*state);
    add_judged_rows(affected, all_verdicts);
    verdicts = &all_verdicts;
  }
  close_affected(affected, state->pairs_table, verdicts);
  state->figures.read_rows +=
      static_cast<int64>(place_rows(affected, definition, removed, options.keep_first_row));
  PopActiveSnapshot();
  RowGrouping *grouping =
      group_affected(*affected, options, verdicts, state->figures.rows, CurrentMemoryContext);
  if (definition.has_entities()) name_entities(*state, *affected, grouping);
  update_view(view, definition, *affected, *grouping);
  store_row_count(definition, state->figures.rows);
  forget_changes(parts.changes, changes, GetActiveSnapshot(), false);
  tuplestore_end(state->sets);
  close_row_keys(state->keys);
  close_row_keys(affected->keys);
  *figures = state->figures;
}

// Returns whether a refresh from the changes is possible and pays. Gives what the refresh needs.
bool can_apply_changes(const DedupDefinition &definition, const OpenParts &parts, TokenIndex *index,
                       ChangeList *changes) {
  measure_of(definition, refresh_function);  // errors come before the view's order of tokens is read
  const char *obstacle = obstacle_to_tracking(definition.source);
  const TrackedTable tracked = tracked_table(definition.source);
  if (obstacle != nullptr) {
    const char *enabling = OidIsValid(tracked.table) ? enabling_statement(tracked.table) : nullptr;
    ereport(NOTICE,
            (errmsg("%s: all rows are read, since changes are not tracked: %s", refresh_function, obstacle),
             enabling == nullptr ? errhint("Make the view again, or make it without track_changes.")
                                 : errhint("The table's owner enables them: %s.", enabling)));
    return false;
  }
  if (definition.has_keys() && !has_index_on(tracked.table, tracked.id)) return false;
  *index = read_token_index(definition, CurrentMemoryContext);
  if (!index->exists || needs_new_order(*index, index->rows)) return false;
  const auto most = std::max(few_changes, static_cast<size_t>(index->rows / most_changed_share));
  const size_t limit = memory_limit_of(CurrentMemoryContext);
  *changes = read_changes(definition, parts.changes, std::min(most, limit / bytes_of_change), limit);
  return !changes->all;
}

}  // namespace

bool refresh_from_changes(Relation view, const DedupDefinition &definition, RefreshFigures *figures) {
  if (!definition.tracked() || !RelationIsPopulated(view)) return false;
  check_view(view, definition);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dedup view", ALLOCSET_DEFAULT_SIZES);
  MemoryContext old = MemoryContextSwitchTo(context);
  // As in REFRESH, the query's functions have the rights of the view's owner, and cannot change settings.
  Oid user;
  int security;
  GetUserIdAndSecContext(&user, &security);
  SetUserIdAndSecContext(view->rd_rel->relowner, security | SECURITY_RESTRICTED_OPERATION);
  const int level = NewGUCNestLevel();
  compat::restrict_search_path();
  // Keys are looked up through indexes, also where the planner does not know how many rows there are. It then
  // thinks what has no index, such as the table of changes, costly enough to be compiled, for 10 ms a query.
  if (definition.has_keys()) set_until_end("enable_seqscan", "off");
  set_until_end("jit", "off");
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
