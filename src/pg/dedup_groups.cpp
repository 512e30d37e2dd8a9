// The query of a dedup view: groups of duplicates from what was stored by the last refresh and what has
// changed.
#include "pg/pg.hpp"

extern "C" {
#include "access/relation.h"
#include "access/xact.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/token_filter.hpp"
#include "pg/compat.hpp"
#include "pg/dedup_state.hpp"
#include "pg/dedup_view.hpp"
#include "pg/duplicate_grouping.hpp"
#include "pg/engine.hpp"
#include "pg/errors.hpp"
#include "pg/join_functions.hpp"
#include "pg/query_receiver.hpp"
#include "pg/settings.hpp"
#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *function = "dedup_view_groups";
constexpr size_t pairs_at_once = 1 << 16;  // stored by one statement

// The arguments of dedup_view_groups, in order.
enum Argument {
  Arg_source,
  Arg_rows,
  Arg_pairs,
  Arg_threshold,
  Arg_measure,
  Arg_method,
  Arg_keep,
  Arg_max_group_share
};

RefreshFigures last_figures = {};

// The join of new and changed rows with all rows.
struct DeltaJoin {
  Measure measure;
  JoinEngine *engine;
  File spill_file;  // of the engine; 0 where it has none
  Batch *batch;
  bool all;  // no row was kept: all rows are joined with themselves
  // The rows of either side of the engine. Of those that were kept, only what can be similar to another one
  // is there.
  uint32_t *rows[2];
  size_t counts[2];
};

// A similar pair of row numbers.
struct RowPair {
  uint32_t left;
  uint32_t right;
  double similarity;
};

// Keeps other refreshes of the view away until the transaction ends, and pushes a snapshot that sees what
// those before have stored: the one that the statement began with may be older. Errors where the transaction
// has one snapshot for all its statements, which may be older, too: rows that another refresh has stored
// since would never be joined with those of this one.
void lock_state(Oid rows_table) {
  LockRelationOid(rows_table, ShareRowExclusiveLock);
  Relation relation = relation_open(rows_table, NoLock);
  const bool created_here = relation->rd_createSubid != InvalidSubTransactionId;
  relation_close(relation, NoLock);
  if (IsolationUsesXactSnapshot() && !created_here)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("a dedup view cannot be refreshed in a transaction of isolation level REPEATABLE "
                           "READ or SERIALIZABLE"),
                    errhint("Refresh it in one of isolation level READ COMMITTED.")));
  PushActiveSnapshot(GetTransactionSnapshot());
}

void feed(DeltaJoin *join, Side side, TupleTableSlot *slot, TokenType type) {
  bool isnull;
  const Datum array = slot_getattr(slot, 2, &isnull);
  if (isnull) return feed_empty_set(join->engine, side, type);
  const SetView set = view_set(array, function);
  feed_set(join->engine, side, set);
  free_view(set, array);
  offer_spill_file(join->engine, &join->spill_file);
}

// Calls body(span) with the set's tokens.
template <class Body>
auto with_tokens(const SetView &set, Body &&body) {
  if (set.type == TokenType::int4) return body(std::span(static_cast<const int32_t *>(set.data), set.count));
  if (set.type == TokenType::int8) return body(std::span(static_cast<const int64_t *>(set.data), set.count));
  std::vector<std::string_view> texts(set.count);
  TextCursor cursor(set);
  for (std::string_view &text : texts) text = cursor.next();
  return body(std::span<const std::string_view>(texts));
}

// Feeds the row to a side.
void feed_row(DeltaJoin *join, Side side, size_t row, TupleTableSlot *slot, TokenType type) {
  feed(join, side, slot, type);
  uint32_t *rows = join->rows[static_cast<int>(side)];
  rows[join->counts[static_cast<int>(side)]++] = static_cast<uint32_t>(row);
}

// Calls body(row, slot) for every row.
template <class Body>
void for_rows(const DedupState &state, Body &&body) {
  TupleTableSlot *slot = MakeSingleTupleTableSlot(state.columns, &TTSOpsMinimalTuple);
  tuplestore_rescan(state.sets);
  for (size_t row = 0; tuplestore_gettupleslot(state.sets, true, false, slot); ++row) {
    CHECK_FOR_INTERRUPTS();
    body(row, slot);
  }
  ExecDropSingleTupleTableSlot(slot);
}

// Calls body(set) with a row's set, and returns what it returns; of a NULL, false.
template <class Body>
bool with_set(TupleTableSlot *slot, Body &&body) {
  bool isnull;
  const Datum array = slot_getattr(slot, 2, &isnull);
  if (isnull) return false;
  const SetView set = view_set(array, function);
  const bool result = call_cpp([&] { return body(set); });
  free_view(set, array);
  return result;
}

// Feeds new and changed rows to the left side, and to the right side these and all kept ones that can be
// similar to one of them: the engine would spend most of its time on those that cannot.
void feed_delta(DeltaJoin *join, const DedupState &state, TokenFilter *filter) {
  for_rows(state, [&](size_t row, TupleTableSlot *slot) {
    if (state.rows[row].state == RowState::kept) return;
    feed_row(join, Side::left, row, slot, state.token_type);
    if (join->all) return;
    feed_row(join, Side::right, row, slot, state.token_type);
    with_set(slot, [&](const SetView &set) {
      with_tokens(set, [&](auto tokens) { filter->add(tokens); });
      return true;
    });
  });
  if (join->all) return;
  call_cpp([&] { filter->finish(); });
  for_rows(state, [&](size_t row, TupleTableSlot *slot) {
    if (state.rows[row].state != RowState::kept) return;
    const auto may_match = [&](const SetView &set) {
      return with_tokens(set, [&](auto tokens) { return filter->may_match(tokens); });
    };
    if (with_set(slot, may_match)) feed_row(join, Side::right, row, slot, state.token_type);
  });
}

// Returns the join, fed.
DeltaJoin start_delta_join(const DedupState &state, Measure measure, double threshold) {
  DeltaJoin join = {};
  join.measure = measure;
  join.all = state.figures.new_rows + state.figures.changed_rows == static_cast<int64>(state.count);
  JoinSpec spec = spec_from_settings(measure, threshold);
  spec.self_join = join.all;
  join.engine = create_engine(spec, state.context);
  join.batch = create_batch(state.context);
  for (uint32_t *&rows : join.rows) rows = allocate<uint32_t>(state.count);
  auto *filter = own(state.context, [&] { return std::make_unique<TokenFilter>(measure, threshold); });
  feed_delta(&join, state, filter);
  return join;
}

// Gives the i-th pair of the batch; false where it is of a row with itself, or comes the other way round,
// too.
bool pair_of(const DeltaJoin &join, const DedupState &state, size_t i, RowPair *pair) {
  const Side right_side = join.all ? Side::left : Side::right;
  const uint32_t left = join.batch->left[i], right = join.batch->right[i];
  pair->left = join.rows[static_cast<int>(Side::left)][left];
  pair->right = join.rows[static_cast<int>(right_side)][right];
  if (pair->left == pair->right) return false;
  if (!join.all && state.rows[pair->right].state != RowState::kept && pair->right < pair->left) return false;
  pair->similarity = similarity(join.measure, join.batch->overlap[i], join.engine->set_size(Side::left, left),
                                join.engine->set_size(right_side, right));
  return true;
}

// Stores the pairs of the join, adds them to the grouper, and ends the join.
void take_pairs(DeltaJoin join, DedupState *state, DuplicateGrouper *grouper) {
  auto *pairs = allocate<DedupPair>(pairs_at_once);
  size_t count = 0;
  RowPair pair;
  while (next_batch(join.engine, &join.spill_file, join.batch)) {
    for (size_t i = 0; i < join.batch->size(); ++i) {
      if (!pair_of(join, *state, i, &pair)) continue;
      call_cpp([&] { grouper->add_pair(pair.left, pair.right, pair.similarity); });
      const int64 a = state->rows[pair.left].id, b = state->rows[pair.right].id;
      pairs[count++] = {std::min(a, b), std::max(a, b), pair.similarity};
      if (count < pairs_at_once) continue;
      store_pairs(*state, pairs, count);
      state->figures.new_pairs += static_cast<int64>(count);
      count = 0;
    }
  }
  store_pairs(*state, pairs, count);
  state->figures.new_pairs += static_cast<int64>(count);
  pfree(pairs);
  close_spill_file(&join.spill_file);
}

int64 *ids_of(const DedupState &state) {
  auto *ids = static_cast<int64 *>(
      MemoryContextAllocHuge(state.context, std::max<size_t>(state.count, 1) * sizeof(int64)));
  for (size_t row = 0; row < state.count; ++row) ids[row] = state.rows[row].id;
  return ids;
}

}  // namespace

const RefreshFigures &last_refresh_figures() {
  return last_figures;
}

}  // namespace simjoin::pg

using namespace simjoin;
using namespace simjoin::pg;

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_dedup_view_groups);
Datum simjoin_dedup_view_groups(PG_FUNCTION_ARGS) {
  compat::begin_materialized_result(fcinfo);
  const Measure measure = measure_by_name(string_argument(fcinfo, Arg_measure), function);
  const double threshold = PG_GETARG_FLOAT8(Arg_threshold);
  check_similarity(function, "threshold", threshold, measure, false);
  const GroupingOptions options =
      grouping_options(string_argument(fcinfo, Arg_method), string_argument(fcinfo, Arg_keep),
                       PG_GETARG_FLOAT8(Arg_max_group_share), function);
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dedup view", ALLOCSET_DEFAULT_SIZES);
  lock_state(PG_GETARG_OID(Arg_rows));
  DedupState *state =
      read_state(relation_name(PG_GETARG_OID(Arg_source)), relation_name(PG_GETARG_OID(Arg_rows)),
                 relation_name(PG_GETARG_OID(Arg_pairs)), function, context);
  RowGrouping *grouping = start_grouping(options, ids_of(*state), state->count, function, context);
  add_kept_pairs(*state, &grouping->work->grouper);
  store_rows(*state);
  if (state->figures.new_rows + state->figures.changed_rows > 0)
    take_pairs(start_delta_join(*state, measure, threshold), state, &grouping->work->grouper);
  PopActiveSnapshot();
  last_figures = state->figures;
  return_groups(fcinfo, grouping);
  tuplestore_end(state->sets);
  MemoryContextDelete(context);
  return 0;
}
}
