// The input of NearestRows or SimilarRows: it is read, kept, and its sets are indexed.
#include "pg/base/pg.hpp"

extern "C" {
#include "executor/executor.h"
#include "utils/memutils.h"
}

#include <memory>

#include "core/base/memory_shares.hpp"
#include "core/nearest/key_search.hpp"
#include "core/nearest/nearest_join.hpp"
#include "core/nearest/text_search.hpp"
#include "core/nearest/weighted_nearest.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/interrupts.hpp"
#include "pg/base/settings.hpp"
#include "pg/computation/background.hpp"
#include "pg/nearest/state.hpp"
#include "pg/nearest/texts.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

// Gives the similarity's column the value NULL, which conditions without it do not look at.
void fill_input_row(NearestRowsState *state, TupleTableSlot *from) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  ExecClearTuple(slot);
  slot_getsomeattrs(from, state->facts.columns);
  memcpy(slot->tts_values, from->tts_values, sizeof(Datum) * static_cast<size_t>(state->facts.columns));
  memcpy(slot->tts_isnull, from->tts_isnull, sizeof(bool) * static_cast<size_t>(state->facts.columns));
  slot->tts_values[state->facts.columns] = 0;
  slot->tts_isnull[state->facts.columns] = true;
  ExecStoreVirtualTuple(slot);
}

// Adds the set of the row in the scan tuple.
void add_set_of_row(NearestRowsState *state) {
  KeptRows *rows = &state->rows;
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  const bool keyed = state->row_keys.count > 0;
  KeyedRow row = {0, rows->count};
  if (keyed && !hash_of_key(state->row_keys, context, &row.hash)) {  // it meets no condition
    feed_empty_set(rows->join, Side::right, state->facts.token_type);
    return add_row(state->context, &rows->without_set, rows->count);
  }
  if (keyed) rows->keyed.append(row);
  NearSet set = {};
  if (!state->facts.texts.used) {
    set = evaluate_set(state->facts, state->set, context);
  } else {
    const Datum text = ExecEvalExprSwitchContext(state->set.set, context, &set.isnull);
    if (!set.isnull) return add_text_of_row(state, text, row.hash);
  }
  if (!set.isnull && !set.flawed()) return feed_keyed_set(state, Side::right, set, row.hash);
  feed_empty_set(rows->join, Side::right, state->facts.token_type);
  add_row(state->context, &rows->without_set, rows->count);
  (set.isnull ? rows->nulls : rows->flawed).append(rows->count);
}

std::unique_ptr<RowSearch> make_search(const NearestRowsFacts &facts) {
  if (facts.by_keys) return std::make_unique<KeySearch>();
  if (facts.texts.used) return std::make_unique<TextSearch>(facts.texts.order);
  if (facts.weighted) return std::make_unique<WeightedNearest>(facts.measure);
  return std::make_unique<NearestJoin>(facts.order());
}

// Reads all rows. Returns false where their index would take more memory than the limit.
bool read_nearest_input(NearestRowsState *state, size_t limit) {
  KeptRows *rows = &state->rows;
  ExprContext *context = state->css.ss.ps.ps_ExprContext;
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  for (;;) {
    check_interrupts();
    TupleTableSlot *from = ExecProcNode(nearest_input(state));
    if (TupIsNull(from)) break;
    ResetExprContext(context);
    fill_input_row(state, from);
    context->ecxt_scantuple = slot;
    add_set_of_row(state);
    append_row(rows->reader.store, slot->tts_values, slot->tts_isnull);
    ++rows->count;
    if (rows->join->bytes_to_index() + rows->keyed.size() * sizeof(KeyedRow) > limit) return false;
  }
  sort_interruptibly(rows->keyed.begin(), rows->keyed.size(), std::less<>(),
                     [](const KeyedRow &) { return size_t{4}; });
  return true;
}

void index_kept_rows(NearestRowsState *state) {
  RowSearch *join = state->rows.join;
  if (join->takes_long_to_index()) {
    run_interruptibly(state->context, [join](WorkerPool &pool) { join->index(pool.stop()); });
  } else {
    call_cpp([&] { join->index(StopFlag()); });
  }
  state->memory = Max(state->memory, join->stats().memory_peak);
}

// Says once a query that there is no index of the rows, which may take hours instead of seconds.
void note_missing_index(const NearestRowsState *state, size_t limit) {
  if (state->sorts || Settings::notice_pairs() == 0) return;
  const bool ordered = state->facts.ordered;
  ereport(NOTICE,
          (errmsg("%s %s the rows of the subquery again for each outer row",
                  ordered ? nearest_rows_name : similar_rows_name, ordered ? "sorts" : "reads"),
           errdetail("The index of their sets takes more memory than the %zu MB that are left for it.",
                     limit >> 20),
           errhint("Raise simjoin.memory_limit, or leave rows out by conditions on their table alone.")));
}

}  // namespace

void keep_rows(NearestRowsState *state) {
  KeptRows *rows = &state->rows;
  if (rows->read) return;
  give_up_at_conflict(state->context);
  const size_t limit = memory_limit_of(state->context, ordinary_memory);
  rows->join = own(state->context, [&] { return make_search(state->facts); });
  rows->keyed = GrowingArray<KeyedRow>(state->context);
  rows->nulls = GrowingArray<uint32_t>(state->context);
  rows->flawed = GrowingArray<uint32_t>(state->context);
  state->batch = own(state->context, [] { return std::make_unique<Batch>(); });
  rows->reader.store = create_row_store(state->context, state->descriptor, row_share(limit));
  const size_t index_limit = limit - row_share(limit);
  if (read_nearest_input(state, index_limit)) {
    index_kept_rows(state);
  } else {
    note_missing_index(state, index_limit);
    forget_rows(state);
  }
  rows->read = true;
}

void forget_rows(NearestRowsState *state) {
  KeptRows *rows = &state->rows;
  if (rows->join != nullptr) state->verified += rows->join->stats().verified;
  if (rows->reader.store != nullptr) close_row_store(rows->reader.store);
  ExecClearTuple(state->css.ss.ss_ScanTupleSlot);
  *rows = {};
  MemoryContextReset(state->context);
}

void fill_kept_row(NearestRowsState *state, uint32_t row, Datum similarity, bool isnull) {
  TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
  ExecClearTuple(slot);
  read_row(&state->rows.reader, row, slot->tts_values, slot->tts_isnull);
  slot->tts_values[state->facts.columns] = similarity;
  slot->tts_isnull[state->facts.columns] = isnull;
  ExecStoreVirtualTuple(slot);
}

}  // namespace simjoin::pg
