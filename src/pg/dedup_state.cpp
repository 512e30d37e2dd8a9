#include "pg/dedup_state.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
}

#include <algorithm>
#include <cstring>
#include <limits>

#include "pg/dedup_view.hpp"
#include "pg/query_receiver.hpp"
#include "pg/query_rows.hpp"

namespace simjoin::pg {
namespace {

static_assert(sizeof(Fingerprint) == UUID_LEN);  // a fingerprint is stored as a uuid

constexpr size_t first_capacity = 1024;
constexpr size_t stored_at_once = 1 << 16;  // rows or pairs that one statement stores, or ids it looks for
constexpr uint64_t kind_of_null = 255;      // of the fingerprint of a NULL set; others have their token type

// Takes rows of a query from the executor.
struct StateReceiver {
  DestReceiver receiver;
  DedupState *state;
  DuplicateGrouper *grouper;  // of pairs
  bool started;
  Oid id_type;
};

StateReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<StateReceiver *>(self);
}

// Returns the number of the row with this id; where none has it, one that no row has.
size_t number_of(const DedupState &state, int64 id) {
  return call_cpp([&] { return state.numbers->numbers.number_of(id); });
}

void start_source(DestReceiver *self, int, TupleDesc columns) {
  StateReceiver *receiver = receiver_of(self);
  DedupState *state = receiver->state;
  check_single_statement(&receiver->started, state->function);
  check_row_columns(columns, state->function, &receiver->id_type, &state->token_type);
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
  auto *state = static_cast<DedupState *>(reinterpret_cast<IdReceiver *>(self)->context);
  bool isnull;
  const Datum id = slot_getattr(slot, 1, &isnull);
  add_row(state, slot,
          {id_of(id, getBaseType(TupleDescAttr(state->columns, 0)->atttypid)), {}, RowState::kept});
  return true;
}

// Takes (id, fingerprint) of the last refresh.
bool receive_stored_row(TupleTableSlot *slot, DestReceiver *self) {
  DedupState *state = receiver_of(self)->state;
  bool isnull;
  const int64 id = DatumGetInt64(slot_getattr(slot, 1, &isnull));
  Fingerprint print;
  std::memcpy(&print, DatumGetUUIDP(slot_getattr(slot, 2, &isnull))->data, sizeof print);
  const size_t row = number_of(*state, id);
  if (row < state->count && state->rows[row].print == print) {
    state->rows[row].state = RowState::kept;
    return true;
  }
  if (row < state->count) state->rows[row].state = RowState::changed;
  make_room(&state->stale, state->stale_count, &state->stale_capacity);
  state->stale[state->stale_count++] = id;
  return true;
}

// Takes (a, b, similarity) of earlier refreshes.
bool receive_stored_pair(TupleTableSlot *slot, DestReceiver *self) {
  const DedupState *state = receiver_of(self)->state;
  bool isnull;
  const size_t a = number_of(*state, DatumGetInt64(slot_getattr(slot, 1, &isnull)));
  const size_t b = number_of(*state, DatumGetInt64(slot_getattr(slot, 2, &isnull)));
  const double similarity = DatumGetFloat8(slot_getattr(slot, 3, &isnull));
  if (a >= state->count || b >= state->count) return true;
  if (state->rows[a].state != RowState::kept || state->rows[b].state != RowState::kept) return true;
  call_cpp([&] {
    receiver_of(self)->grouper->add_pair(static_cast<uint32_t>(a), static_cast<uint32_t>(b), similarity);
  });
  return true;
}

Datum bigint_array(const Datum *values, size_t count) {
  return PointerGetDatum(construct_array(const_cast<Datum *>(values), static_cast<int>(count), INT8OID,
                                         sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

// Returns a parameter, $1, that is an array of the ids.
ParamListInfo ids_parameter(IdList ids) {
  auto *values = allocate<Datum>(ids.count);
  for (size_t i = 0; i < ids.count; ++i) values[i] = Int64GetDatum(ids.ids[i]);
  ParamListInfo parameters = makeParamList(1);
  parameters->params[0] = {bigint_array(values, ids.count), false, PARAM_FLAG_CONST, INT8ARRAYOID};
  pfree(values);
  return parameters;
}

// Calls body(parameters) with some of the ids at a time.
template <class Body>
void for_parts(IdList ids, Body &&body) {
  for (size_t begin = 0; begin < ids.count; begin += stored_at_once) {
    ParamListInfo parameters = ids_parameter({ids.ids + begin, std::min(stored_at_once, ids.count - begin)});
    body(parameters);
    pfree(DatumGetPointer(parameters->params[0].value));
    pfree(parameters);
  }
}

void read(DedupState *state, const char *query, bool (*receive)(TupleTableSlot *, DestReceiver *),
          void (*start)(DestReceiver *, int, TupleDesc), DuplicateGrouper *grouper,
          ParamListInfo parameters = nullptr) {
  StateReceiver receiver = {};
  receiver.receiver.receiveSlot = receive;
  receiver.receiver.rStartup = start;
  receiver.state = state;
  receiver.grouper = grouper;
  run_query(query, &receiver.receiver, state->function, parameters);
}

void run_with_parameters(const char *query, ParamListInfo parameters,
                         bool (*receive)(TupleTableSlot *, DestReceiver *), void *context,
                         const char *function) {
  IdReceiver receiver = {};
  receiver.receiver.receiveSlot = receive;
  receiver.context = context;
  run_query(query, &receiver.receiver, function, parameters);
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
DedupState *start_state(const DedupDefinition &definition, const char *function, MemoryContext context) {
  MemoryContext old = MemoryContextSwitchTo(context);
  auto *state = static_cast<DedupState *>(palloc0(sizeof(DedupState)));
  state->function = function;
  state->context = context;
  state->definition = &definition;
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

void execute_statement(const char *statement, int parameters, Oid *types, Datum *values) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  const int result = SPI_execute_with_args(statement, parameters, types, values, nullptr, false, 0);
  if (result < 0) elog(ERROR, "%s", SPI_result_code_string(result));
  SPI_finish();
}

DedupState *read_state(const DedupDefinition &definition, const IdList *some, const char *function,
                       MemoryContext context) {
  DedupState *state = start_state(definition, function, context);
  const char *source = psprintf("SELECT * FROM %s", state->source);
  const char *stored = psprintf("SELECT id, fingerprint FROM %s", state->rows_table);
  if (some == nullptr) {
    read(state, source, receive_source_row, start_source, nullptr);
    read(state, stored, receive_stored_row, nullptr, nullptr);
  } else {
    // All rows first: what is stored of removed ones gives these numbers, too, which have to be larger.
    source = some_rows_of_source(definition);
    for_parts(*some, [&](ParamListInfo ids) {
      read(state, source, receive_source_row, start_source, nullptr, ids);
    });
    stored = psprintf("%s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", stored);
    for_parts(*some,
              [&](ParamListInfo ids) { read(state, stored, receive_stored_row, nullptr, nullptr, ids); });
  }
  count_states(state);
  return state;
}

void add_kept_rows(DedupState *state, IdList some) {
  run_for_ids(some_rows_of_source(*state->definition), some, receive_kept_row, state, state->function);
}

void run_for_ids(const char *query, IdList ids, bool (*receive)(TupleTableSlot *, DestReceiver *),
                 void *context, const char *function) {
  for_parts(ids, [&](ParamListInfo parameters) {
    run_with_parameters(query, parameters, receive, context, function);
  });
}

void run_for_ids_at_once(const char *query, IdList ids, bool (*receive)(TupleTableSlot *, DestReceiver *),
                         void *context, const char *function) {
  run_with_parameters(query, ids_parameter(ids), receive, context, function);
}

void add_kept_pairs(const DedupState &state, DuplicateGrouper *grouper) {
  read(const_cast<DedupState *>(&state), psprintf("SELECT a, b, similarity FROM %s", state.pairs_table),
       receive_stored_pair, nullptr, grouper);
}

void remove_stale(const DedupState &state) {
  const char *const statements[] = {
      psprintf("DELETE FROM %s WHERE a OPERATOR(pg_catalog.=) ANY ($1) OR b OPERATOR(pg_catalog.=) ANY ($1)",
               state.pairs_table),
      psprintf("DELETE FROM %s WHERE id OPERATOR(pg_catalog.=) ANY ($1)", state.rows_table)};
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

void store_pairs(const DedupState &state, const DedupPair *pairs, size_t count) {
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
