// Groups of duplicates, from what the last refresh has stored and from what has changed.
#include "pg/dedup/groups.hpp"
#include "pg/base/computation_memory.hpp"

extern "C" {
#include "utils/memutils.h"
#include "utils/snapmgr.h"
}

#include <utility>

#include "pg/base/statements.hpp"
#include "pg/dedup/changes.hpp"
#include "pg/dedup/entities.hpp"
#include "pg/dedup/index.hpp"
#include "pg/dedup/join.hpp"
#include "pg/dedup/triggers.hpp"
#include "pg/dedup/view_verdicts.hpp"
#include "pg/functions/duplicate_grouping.hpp"
#include "pg/functions/verdicts.hpp"

namespace simjoin::pg {
namespace {

RefreshFigures last_figures = {};

// The name of the function that runs the query, for messages, or NULL.
const char *refreshing_function = nullptr;

// Returns the ids of the rows, or the places of their keys in the order.
const int64 *ids_of(const DedupState &state) {
  if (state.keys != nullptr) return state.places;
  auto *ids = allocate_in<int64>(state.context, state.count());
  for (size_t row = 0; row < state.count(); ++row) ids[row] = state.rows[row].id;
  return ids;
}

// Stores the rows, and what a refresh from changes needs to know of them. Since all rows have been read, the
// changes that the snapshot sees are done with. Where changes are not tracked now, a note for the next
// refresh stays.
void store_tracked_rows(DedupState *state, const DedupDefinition &definition) {
  constexpr size_t none_wanted = 0;
  Relation table = state->parts->changes;
  const ChangeList changes = read_changes(definition, table, none_wanted, memory_limit_of(state->context));
  store_indexed_rows(state, definition);
  forget_changes(table, changes, GetActiveSnapshot(), obstacle_to_tracking(definition.source) != nullptr);
}

}  // namespace

const RefreshFigures &last_refresh_figures() {
  return last_figures;
}

void execute_for(const char *function, const char *statement) {
  const char *before = std::exchange(refreshing_function, function);
  PG_TRY();
  { execute_statement(statement); }
  PG_FINALLY();
  { refreshing_function = before; }
  PG_END_TRY();
}

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_dedup_view_groups);
Datum simjoin_dedup_view_groups(PG_FUNCTION_ARGS) {
  // The view defines the columns of keys. Calls that are not in FROM do not have them.
  if (get_call_result_type(fcinfo, nullptr, nullptr) != TYPEFUNC_COMPOSITE) raise_other_caller();
  ResultRows result(fcinfo);
  const char *function = refreshing_function == nullptr ? "dedup_view_groups" : refreshing_function;
  Datum arguments[most_view_arguments];
  for (int i = 0; i < PG_NARGS(); ++i) arguments[i] = PG_GETARG_DATUM(i);
  const DedupDefinition definition = definition_being_refreshed(arguments, PG_NARGS());
  check_result(result.columns(), definition);
  const GroupingOptions options = grouping_options(
      definition.method, definition.keep, definition.max_group_share, definition.has_verdicts(), function);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dedup view", ALLOCSET_DEFAULT_SIZES);
  const OpenParts parts = open_parts(definition);
  DedupState *state = read_state(definition, parts, nullptr, function, context);
  RowGrouping *grouping =
      start_grouping(options, create_grouping_work(options.grouping, context, definition.has_keys()),
                     ids_of(*state), state->count(), function, context, state->keys);
  add_kept_pairs(*state, grouping->work);
  remove_stale(*state);
  if (definition.tracked())
    store_tracked_rows(state, definition);
  else
    store_rows(*state);
  if (definition.has_verdicts()) bind_groups(*state, grouping);
  join_changes(state, grouping->work);
  form_groups(grouping, state->count());
  if (definition.has_verdicts()) report_verdicts(*grouping);
  if (definition.has_entities()) name_entities(*state, grouping);
  close_parts(parts);
  last_figures = state->figures;
  return_groups(*grouping, &result);
  tuplestore_end(state->sets);
  close_row_keys(state->keys);
  MemoryContextDelete(context);
  return 0;
}
}

}  // namespace simjoin::pg
