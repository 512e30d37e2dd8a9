#include "pg/dedup/state.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

#include <algorithm>
#include <cstring>
#include <limits>

#include "pg/base/computation_memory.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/query/query_rows.hpp"
#include "pg/query/table_writer.hpp"
#include "pg/sets/arrays.hpp"

namespace simjoin::pg {
namespace {

// The kinds of fingerprints of a NULL set, of weights, and of a set with its weights. Other sets have their
// token type.
enum Kind : uint64_t { kind_of_pair = 253, kind_of_weights = 254, kind_of_null = 255 };

// Returns the number of the row with this id. Where no row has the id, the number is one that no row has.
size_t number_of(const DedupState &state, int64 id) {
  return call_cpp([&] { return state.numbers->numbers.number_of(id); });
}

// Takes the columns of the view's query, whose ids are of `keys`.
void take_columns(DedupState *state, TupleDesc columns, RowKeys *keys) {
  const ColumnCheck check = {state->function, keys};
  state->token_type = state->measure.weighted ? check_weighted_columns(columns, check, nullptr).token_type
                                              : check_row_columns(columns, check);
  if (state->columns != nullptr) return;  // the query is open, so that its columns stay the same
  MemoryContext old = MemoryContextSwitchTo(state->context);
  state->columns = CreateTupleDescCopy(columns);
  MemoryContextSwitchTo(old);
}

// Returns the fingerprint of a set with its weights, which are nullptr where it has none.
Fingerprint fingerprint_of(const SetView &set, const float *weights) {
  const char *begin = static_cast<const char *>(set.data);
  const char *end = reinterpret_cast<const char *>(set.array) + VARSIZE(set.array);
  const Fingerprint print =
      fingerprint(begin, static_cast<size_t>(end - begin), static_cast<uint64_t>(set.type));
  if (weights == nullptr) return print;
  const Fingerprint both[] = {print, fingerprint(weights, set.count * sizeof *weights, kind_of_weights)};
  return fingerprint(both, sizeof both, kind_of_pair);
}

// Returns the fingerprint of a row's set.
Fingerprint fingerprint_of(const DedupState &state, TupleTableSlot *slot) {
  Fingerprint print = fingerprint(nullptr, 0, kind_of_null);
  with_set(state, slot,
           [&](const SetView &set, const float *weights) { print = fingerprint_of(set, weights); });
  return print;
}

void add_row(DedupState *state, TupleTableSlot *slot, const DedupRow &row) {
  state->rows.append(row);
  ++state->figures.read_rows;
  tuplestore_puttupleslot(state->sets, slot);
}

// Makes the id NULL, since it is not of the type that the ids of other rows have.
void leave_out_id(TupleTableSlot *slot) {
  slot_getallattrs(slot);
  slot->tts_isnull[0] = true;
}

// Takes rows of the view's query.
struct SourceReader {
  void start(TupleDesc columns) { take_columns(state, columns, state->keys); }
  void take(const QueryRow &row) {
    const int64 id = add_id(state->keys, row);
    if (state->keys == nullptr && number_of(*state, id) != state->count())
      raise_repeated_id(id, row.function);
    add_row(state, row.slot, {id, fingerprint_of(*state, row.slot), RowState::added});
  }

  DedupState *state;
};

// Takes rows of the view's query that are known to have been kept. In place of a key they have its number.
struct KeptReader {
  void start(TupleDesc columns) { take_columns(state, columns, nullptr); }
  void take(const QueryRow &row) {
    const int64 id = row.id();
    const size_t place = number_of(*state, id) - first_number;
    if (place >= count || met[place]) raise_repeated_id(id, row.function);
    met[place] = true;
    if (state->keys != nullptr) leave_out_id(row.slot);
    add_row(state, row.slot, {id, {}, RowState::kept});
  }

  DedupState *state;
  size_t first_number;  // the first of the numbers that their ids have
  size_t count;
  bool *met;  // which of these ids have been met
};

// Takes (id, fingerprint) of the last refresh.
void take_stored_row(DedupState *state, const StoredRow &stored) {
  const StoredPrint print = stored_print(stored);
  const size_t known = call_cpp([&] { return size_t{state->numbers->numbers.count()}; });
  const size_t row = number_of(*state, print.id);
  const bool there = row < state->count();
  if (there ? state->rows[row].state != RowState::added : row < known)
    raise_repeated_id(print.id, state->function);
  if (there && state->rows[row].print == print.print) {
    state->rows[row].state = RowState::kept;
    return;
  }
  if (there) state->rows[row].state = RowState::changed;
  state->stale.append(print.id);
}

// Takes (a, b, similarity) of earlier refreshes.
void take_stored_pair(const DedupState &state, const StoredRow &stored, GroupingWork *work) {
  const StoredPair pair = stored_pair(stored);
  const size_t a = number_of(state, pair.a), b = number_of(state, pair.b);
  if (a >= state.count() || b >= state.count()) return;
  if (state.rows[a].state != RowState::kept || state.rows[b].state != RowState::kept) return;
  call_cpp([&] { work->add_pair(static_cast<uint32_t>(a), static_cast<uint32_t>(b), pair.similarity); });
}

void count_states(DedupState *state) {
  state->figures.rows = static_cast<int64>(state->count());
  for (const DedupRow &row : state->rows) {
    if (row.state == RowState::added) ++state->figures.new_rows;
    if (row.state == RowState::changed) ++state->figures.changed_rows;
  }
  state->figures.removed_rows = static_cast<int64>(state->stale.size()) - state->figures.changed_rows;
}

// Returns an empty state.
DedupState *start_state(const DedupDefinition &definition, const OpenParts &parts, const char *function,
                        MemoryContext context) {
  MemoryContext old = MemoryContextSwitchTo(context);
  auto *state = static_cast<DedupState *>(palloc0(sizeof(DedupState)));
  state->function = function;
  state->context = context;
  state->definition = &definition;
  state->parts = &parts;
  state->measure = measure_of(definition, function);
  state->source = relation_name(definition.source);
  state->rows_table = relation_name(definition.rows);
  state->pairs_table = relation_name(definition.pairs);
  state->rows = GrowingArray<DedupRow>(context);
  state->stale = GrowingArray<int64>(context);
  state->sets = tuplestore_begin_heap(false, false, work_mem);
  tuplestore_set_eflags(state->sets, EXEC_FLAG_REWIND);  // it is read more than once
  MemoryContextSwitchTo(old);
  const size_t limit = memory_limit_of(context);
  state->numbers = own(context, [limit] { return std::make_unique<RowNumbers>(limit); });
  state->keys = create_row_keys({nullptr, definition.key_type}, KeyNumbers::shared, function, context);
  return state;
}

// Makes the numbers of keys the ids of the rows that were read. Returns those that the last refresh has
// stored. With `noted_only`, only noted keys were read.
GrowingArray<int64> number_read_rows(DedupState *state, bool noted_only) {
  const auto stored = number_rows_by_key(state, noted_only);
  InterruptCounter interrupts;
  for (size_t row = 0; row < state->count(); ++row) {
    interrupts.add(10);
    if (number_of(*state, state->rows[row].id) != row) raise_damaged(state->rows_table);
  }
  return stored;
}

// Reads all rows of the query, and compares them with the stored ones.
void compare_all(DedupState *state) {
  SourceReader source = {state};
  read_query(psprintf("SELECT * FROM %s", state->source), &source, state->function);
  if (state->keys != nullptr) number_read_rows(state, false);
  run_over_part(psprintf("SELECT id, fingerprint FROM ONLY %s", state->rows_table), state->rows_table,
                state->function, [&](const StoredRow &row) { take_stored_row(state, row); });
}

// The same for those rows that the changes name. All rows of the query come first: the stored ids of removed
// rows get numbers as well, which have to be larger.
void compare_some(DedupState *state, IdList changed) {
  SourceReader source = {state};
  GrowingArray<int64> stored;
  if (state->keys == nullptr) {
    const char *query = some_rows_of_source(*state->definition, RelationGetDescr(state->parts->source));
    for_parts(changed, [&](ParamListInfo ids) { read_query(query, &source, state->function, ids); });
  } else {
    read_query(noted_rows_of_source(*state->definition), &source, state->function);
    stored = number_read_rows(state, true);
    changed = {stored.data(), stored.size()};
  }
  run_for_ids(psprintf("SELECT id, fingerprint FROM ONLY %s WHERE id OPERATOR(pg_catalog.=) ANY ($1)",
                       state->rows_table),
              state->rows_table, changed, state->function,
              [&](const StoredRow &row) { take_stored_row(state, row); });
}

}  // namespace

DedupState *read_state(const DedupDefinition &definition, const OpenParts &parts, const IdList *some,
                       const char *function, MemoryContext context) {
  DedupState *state = start_state(definition, parts, function, context);
  if (some == nullptr)
    compare_all(state);
  else
    compare_some(state, *some);
  count_states(state);
  return state;
}

void add_kept_rows(DedupState *state, IdList some) {
  const size_t known = call_cpp([&] { return size_t{state->numbers->numbers.count()}; });
  KeptReader kept = {state, known - some.size(), some.size(), allocate<bool>(some.size())};
  std::fill_n(kept.met, some.size(), false);
  const char *query = some_rows_of_source(*state->definition, RelationGetDescr(state->parts->source));
  for_parts(
      some, [&](ParamListInfo ids) { read_query(query, &kept, state->function, ids); },
      state->keys == nullptr ? ids_at_once : keys_at_once);
  pfree(kept.met);
}

void add_kept_pairs(const DedupState &state, GroupingWork *work) {
  run_over_part(psprintf("SELECT a, b, similarity FROM ONLY %s", state.pairs_table), state.pairs_table,
                state.function, [&](const StoredRow &row) { take_stored_pair(state, row, work); });
}

void remove_stale(const DedupState &state) {
  const char *const statements[] = {
      psprintf(
          "DELETE FROM ONLY %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b OPERATOR(pg_catalog.=) ANY ($1)",
          state.pairs_table),
      psprintf("DELETE FROM ONLY %s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", state.rows_table)};
  for_parts(state.stale, [&](ParamListInfo ids) {
    ParamExternData &parameter = ids->params[0];
    for (const char *statement : statements)
      execute_statement(statement, 1, &parameter.ptype, &parameter.value);
  });
}

Datum stored_key_of(const DedupState &state, size_t row) {
  return state.keys == nullptr ? Datum{0} : key_at(state.keys, state.places[row], 0);
}

void store_rows(const DedupState &state) {
  constexpr bool nulls[] = {false, false, false};
  TableWriter *writer = open_writer(state.parts->rows);
  for (size_t i = 0; i < state.count(); ++i) {
    const DedupRow &row = state.rows[i];
    if (row.state == RowState::kept) continue;
    const Datum values[] = {Int64GetDatum(row.id), PointerGetDatum(&row.print), stored_key_of(state, i)};
    write_row(writer, values, nulls);
  }
  close_writer(writer);
}

void store_pairs(const DedupState &state, const StoredPair *pairs, size_t count) {
  if (count == 0) return;
  const auto a = make_array<int64>(count), b = make_array<int64>(count);
  const auto similarity = make_array<float8>(count);
  for (size_t i = 0; i < count; ++i) {
    a.elements[i] = pairs[i].a;
    b.elements[i] = pairs[i].b;
    similarity.elements[i] = pairs[i].similarity;
  }
  Oid types[] = {INT8ARRAYOID, INT8ARRAYOID, FLOAT8ARRAYOID};
  Datum values[] = {a.datum(), b.datum(), similarity.datum()};
  execute_statement(psprintf("INSERT INTO %s (a, b, similarity) SELECT * FROM ROWS FROM "
                             "(pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3)) AS p",
                             state.pairs_table),
                    3, types, values);
  for (const Datum value : values) pfree(DatumGetPointer(value));
}

}  // namespace simjoin::pg
