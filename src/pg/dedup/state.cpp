#include "pg/dedup/state.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
}

#include <algorithm>
#include <cstring>
#include <limits>

#include "pg/base/query_receiver.hpp"
#include "pg/base/query_rows.hpp"
#include "pg/base/relation_names.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t first_capacity = 1024;
constexpr size_t stored_at_once = 1 << 16;  // rows that one statement stores
constexpr uint64_t kind_of_null = 255;      // of the fingerprint of a NULL set; others have their token type

// Takes rows of the view's query from the executor.
struct SourceReceiver {
  DestReceiver receiver;
  DedupState *state;
  bool started;
  Oid id_type;
  // Of rows that are known to have been kept, the first of the numbers that their ids have, and which ids
  // have been met.
  size_t first_number;
  size_t count;
  bool *met;
};

SourceReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<SourceReceiver *>(self);
}

// Returns the number of the row with this id; where none has it, one that no row has.
size_t number_of(const DedupState &state, int64 id) {
  return call_cpp([&] { return state.numbers->numbers.number_of(id); });
}

void start_source(DestReceiver *self, int, TupleDesc columns) {
  SourceReceiver *receiver = receiver_of(self);
  DedupState *state = receiver->state;
  check_single_statement(&receiver->started, state->function);
  check_row_columns(columns, state->function, &receiver->id_type, &state->token_type);
  if (state->columns != nullptr) return;  // the query is open, so that its columns stay the same
  MemoryContext old = MemoryContextSwitchTo(state->context);
  state->columns = CreateTupleDescCopy(columns);
  MemoryContextSwitchTo(old);
}

Fingerprint fingerprint_of(Datum array, bool isnull, const char *function) {
  if (isnull) return fingerprint(nullptr, 0, kind_of_null);
  const SetView set = view_set(array, function);
  const char *begin = static_cast<const char *>(set.data);
  const char *end = reinterpret_cast<const char *>(set.array) + VARSIZE(set.array);
  const Fingerprint print =
      fingerprint(begin, static_cast<size_t>(end - begin), static_cast<uint64_t>(set.type));
  free_view(set, array);
  return print;
}

void add_row(DedupState *state, TupleTableSlot *slot, const DedupRow &row) {
  make_room(&state->rows, state->count, &state->capacity);
  state->rows[state->count++] = row;
  ++state->figures.read_rows;
  tuplestore_puttupleslot(state->sets, slot);
}

bool receive_source_row(TupleTableSlot *slot, DestReceiver *self) {
  DedupState *state = receiver_of(self)->state;
  bool id_isnull, set_isnull;
  const Datum id_value = slot_getattr(slot, 1, &id_isnull);
  const Datum array = slot_getattr(slot, 2, &set_isnull);
  if (id_isnull) raise_null_id(state->function);
  const int64 id = id_of(id_value, receiver_of(self)->id_type);
  if (number_of(*state, id) != state->count) raise_repeated_id(id, state->function);
  add_row(state, slot, {id, fingerprint_of(array, set_isnull, state->function), RowState::added});
  return true;
}

// Takes rows of the query that have not changed.
bool receive_kept_row(TupleTableSlot *slot, DestReceiver *self) {
  SourceReceiver *receiver = receiver_of(self);
  DedupState *state = receiver->state;
  bool isnull;
  const Datum value = slot_getattr(slot, 1, &isnull);
  if (isnull) raise_null_id(state->function);
  const int64 id = id_of(value, receiver->id_type);
  const size_t place = number_of(*state, id) - receiver->first_number;
  if (place >= receiver->count || receiver->met[place]) raise_repeated_id(id, state->function);
  receiver->met[place] = true;
  add_row(state, slot, {id, {}, RowState::kept});
  return true;
}

// Takes (id, fingerprint) of the last refresh.
void receive_stored_row(void *context, const StoredRow &stored) {
  auto *state = static_cast<DedupState *>(context);
  const StoredPrint print = stored_print(stored);
  const size_t known = call_cpp([&] { return size_t{state->numbers->numbers.count()}; });
  const size_t row = number_of(*state, print.id);
  const bool there = row < state->count;
  if (there ? state->rows[row].state != RowState::added : row < known)
    raise_repeated_id(print.id, state->function);
  if (there && state->rows[row].print == print.print) {
    state->rows[row].state = RowState::kept;
    return;
  }
  if (there) state->rows[row].state = RowState::changed;
  make_room(&state->stale, state->stale_count, &state->stale_capacity);
  state->stale[state->stale_count++] = print.id;
}

struct KeptPairs {
  const DedupState *state;
  DuplicateGrouper *grouper;
};

// Takes (a, b, similarity) of earlier refreshes.
void receive_stored_pair(void *context, const StoredRow &stored) {
  const auto *kept = static_cast<const KeptPairs *>(context);
  const DedupState &state = *kept->state;
  const StoredPair pair = stored_pair(stored);
  const size_t a = number_of(state, pair.a), b = number_of(state, pair.b);
  if (a >= state.count || b >= state.count) return;
  if (state.rows[a].state != RowState::kept || state.rows[b].state != RowState::kept) return;
  call_cpp(
      [&] { kept->grouper->add_pair(static_cast<uint32_t>(a), static_cast<uint32_t>(b), pair.similarity); });
}

// Reads rows of the view's query.
void read_source(SourceReceiver receiver, const char *query,
                 bool (*receive)(TupleTableSlot *, DestReceiver *), ParamListInfo parameters = nullptr) {
  receiver.receiver.receiveSlot = receive;
  receiver.receiver.rStartup = start_source;
  run_query(query, &receiver.receiver, receiver.state->function, parameters);
}

void count_states(DedupState *state) {
  state->figures.rows = static_cast<int64>(state->count);
  for (size_t i = 0; i < state->count; ++i) {
    if (state->rows[i].state == RowState::added) ++state->figures.new_rows;
    if (state->rows[i].state == RowState::changed) ++state->figures.changed_rows;
  }
  state->figures.removed_rows = static_cast<int64>(state->stale_count) - state->figures.changed_rows;
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
  state->source = relation_name(definition.source);
  state->rows_table = relation_name(definition.rows);
  state->pairs_table = relation_name(definition.pairs);
  state->capacity = state->stale_capacity = first_capacity;
  state->rows = allocate<DedupRow>(first_capacity);
  state->stale = allocate<int64>(first_capacity);
  state->sets = tuplestore_begin_heap(false, false, work_mem);
  tuplestore_set_eflags(state->sets, EXEC_FLAG_REWIND);  // it is read more than once
  MemoryContextSwitchTo(old);
  state->numbers = own(context, [] { return std::make_unique<RowNumbers>(); });
  return state;
}

// Returns the query for the rows of the view's query whose ids are in the array $1.
const char *some_rows_of_source(const DedupDefinition &definition) {
  return psprintf("SELECT * FROM %s WHERE %s OPERATOR(pg_catalog.=) ANY ($1)",
                  relation_name(definition.source),
                  quote_identifier(get_attname(definition.source, 1, false)));
}

void insert_rows(const DedupState &state, const Datum *ids, const Datum *prints, size_t count) {
  if (count == 0) return;
  Oid types[] = {INT8ARRAYOID, UUIDARRAYOID};
  Datum values[] = {bigint_array(ids, count),
                    PointerGetDatum(construct_array(const_cast<Datum *>(prints), static_cast<int>(count),
                                                    UUIDOID, UUID_LEN, false, TYPALIGN_CHAR))};
  execute_statement(psprintf("INSERT INTO %s (id, fingerprint) SELECT * FROM ROWS FROM "
                             "(pg_catalog.unnest($1), pg_catalog.unnest($2)) AS r",
                             state.rows_table),
                    2, types, values);
  for (const Datum value : values) pfree(DatumGetPointer(value));
}

}  // namespace

DedupState *read_state(const DedupDefinition &definition, const OpenParts &parts, const IdList *some,
                       const char *function, MemoryContext context) {
  DedupState *state = start_state(definition, parts, function, context);
  SourceReceiver source = {};
  source.state = state;
  PartQuery stored = {psprintf("SELECT id, fingerprint FROM ONLY %s", state->rows_table), state->rows_table,
                      receive_stored_row, state};
  if (some == nullptr) {
    read_source(source, psprintf("SELECT * FROM %s", state->source), receive_source_row);
    run_over_part(stored, function);
  } else {
    // All rows first: what is stored of removed ones gives these numbers, too, which have to be larger.
    const char *query = some_rows_of_source(definition);
    for_parts(*some, [&](ParamListInfo ids) { read_source(source, query, receive_source_row, ids); });
    stored.query = psprintf("%s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", stored.query);
    run_for_ids(stored, *some, function);
  }
  count_states(state);
  return state;
}

void add_kept_rows(DedupState *state, IdList some) {
  SourceReceiver source = {};
  source.state = state;
  source.count = some.count;
  source.first_number =
      call_cpp([&] { return size_t{state->numbers->numbers.count()}; }) - some.count;  // the last ones
  source.met = allocate<bool>(some.count);
  std::fill_n(source.met, some.count, false);
  const char *query = some_rows_of_source(*state->definition);
  for_parts(some, [&](ParamListInfo ids) { read_source(source, query, receive_kept_row, ids); });
  pfree(source.met);
}

void add_kept_pairs(const DedupState &state, DuplicateGrouper *grouper) {
  KeptPairs kept = {&state, grouper};
  run_over_part({psprintf("SELECT a, b, similarity FROM ONLY %s", state.pairs_table), state.pairs_table,
                 receive_stored_pair, &kept},
                state.function);
}

void remove_stale(const DedupState &state) {
  const char *const statements[] = {
      psprintf(
          "DELETE FROM ONLY %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b OPERATOR(pg_catalog.=) ANY ($1)",
          state.pairs_table),
      psprintf("DELETE FROM ONLY %s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", state.rows_table)};
  for_parts({state.stale, state.stale_count}, [&](ParamListInfo ids) {
    ParamExternData &parameter = ids->params[0];
    for (const char *statement : statements)
      execute_statement(statement, 1, &parameter.ptype, &parameter.value);
  });
}

void store_rows(const DedupState &state) {
  auto *ids = allocate<Datum>(stored_at_once);
  auto *prints = allocate<Datum>(stored_at_once);
  size_t count = 0;
  for (size_t row = 0; row < state.count; ++row) {
    if (state.rows[row].state == RowState::kept) continue;
    ids[count] = Int64GetDatum(state.rows[row].id);
    prints[count++] = PointerGetDatum(&state.rows[row].print);
    if (count < stored_at_once) continue;
    insert_rows(state, ids, prints, count);
    count = 0;
  }
  insert_rows(state, ids, prints, count);
  pfree(ids);
  pfree(prints);
}

void store_pairs(const DedupState &state, const StoredPair *pairs, size_t count) {
  if (count == 0) return;
  auto *columns = allocate<Datum>(3 * count);
  for (size_t i = 0; i < count; ++i) {
    columns[i] = Int64GetDatum(pairs[i].a);
    columns[count + i] = Int64GetDatum(pairs[i].b);
    columns[2 * count + i] = Float8GetDatum(pairs[i].similarity);
  }
  Oid types[] = {INT8ARRAYOID, INT8ARRAYOID, FLOAT8ARRAYOID};
  Datum values[] = {bigint_array(columns, count), bigint_array(columns + count, count),
                    PointerGetDatum(construct_array(columns + 2 * count, static_cast<int>(count), FLOAT8OID,
                                                    sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE))};
  execute_statement(psprintf("INSERT INTO %s (a, b, similarity) SELECT * FROM ROWS FROM "
                             "(pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3)) AS p",
                             state.pairs_table),
                    3, types, values);
  for (const Datum value : values) pfree(DatumGetPointer(value));
  pfree(columns);
}

}  // namespace simjoin::pg
