#include "pg/query/query_source.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cctype>
#include <cstring>

#include "pg/base/interrupts.hpp"
#include "pg/base/statements.hpp"
#include "pg/computation/watch.hpp"
#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {
namespace {

QueryReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<QueryReceiver *>(self);
}

void start_rows(DestReceiver *self, int, TupleDesc columns) {
  QueryReceiver *receiver = receiver_of(self);
  if (receiver->started)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                    errmsg("%s: a query must be a single statement", receiver->function)));
  receiver->started = true;
  if (receiver->blocks.columns != nullptr) columns = receiver->blocks.columns;
  for (int i = 0; i < std::min(columns->natts, QueryRow::most_columns); ++i)
    receiver->types[i] = getBaseType(TupleDescAttr(columns, i)->atttypid);
  receiver->start(receiver->reader, columns);
}

void take_row(const QueryReceiver &receiver, TupleTableSlot *slot) {
  receiver.take(receiver.reader, {receiver.function, slot, receiver.types, receiver.blocks.has_sets});
  if (receiver.watched != nullptr) note_query_row(receiver.watched);
  check_interrupts();  // before PostgreSQL does
}

bool receive_row(TupleTableSlot *slot, DestReceiver *self) {
  QueryReceiver *receiver = receiver_of(self);
  QueryBlocks *blocks = &receiver->blocks;
  if (blocks->columns == nullptr) {
    take_row(*receiver, slot);
    return true;
  }
  bool isnull;
  open_block(&blocks->reader, view_block(slot_getattr(slot, 1, &isnull)));
  do {
    if (receiver->take_packed != nullptr)
      receiver->take_packed(receiver->reader, &blocks->reader, receiver->types);
    if (!next_row_of_block(blocks)) break;
    take_row(*receiver, blocks->reader.slot);
  } while (true);
  check_interrupts();
  return true;
}

void add_hint_at_name(void *query) {
  const auto *text = static_cast<const char *>(query);
  if (geterrcode() == ERRCODE_SYNTAX_ERROR && is_relation_name(text))
    errhint("Give a query and not a name, as in 'TABLE %s'.", text);
}

ExecutorStart_hook_type next_start_hook = nullptr;

// Returns the receiver of the query's rows, NULL where it is another's.
QueryReceiver *receiver_in(const QueryDesc *query) {
  return query->dest != nullptr && query->dest->receiveSlot == receive_row ? receiver_of(query->dest)
                                                                           : nullptr;
}

// Tells a watched computation how many rows the plan of its query is thought to return. Packs rows that come
// from workers.
void start_executor(QueryDesc *query, int flags) {
  QueryReceiver *receiver = receiver_in(query);
  bool packed = false;
  if (receiver != nullptr) {
    if (receiver->watched != nullptr) expect_rows(receiver->watched, query->plannedstmt->planTree->plan_rows);
    packed =
        receiver->takes_blocks && !receiver->started && pack_plan(query, receiver->how, &receiver->blocks);
  }
  if (next_start_hook != nullptr)
    next_start_hook(query, flags);
  else
    standard_ExecutorStart(query, flags);
  if (packed) open_blocks(query, &receiver->blocks);
}

// Calls body(), which plans and executes the receiver's query.
template <class Body>
void plan_for_receiver(const QueryReceiver &receiver, Body &&body) {
  plan_for_blocks(receiver.takes_blocks ? &receiver.how : nullptr);
  PG_TRY();
  body();
  PG_FINALLY();
  plan_for_blocks(nullptr);  // an error may have come before the planner
  PG_END_TRY();
}

// Returns options to run a query for the receiver.
SPIExecuteOptions options_for(QueryReceiver *receiver, ParamListInfo parameters) {
  receiver->receiver.receiveSlot = receive_row;
  receiver->receiver.rStartup = start_rows;
  receiver->receiver.rShutdown = receiver->receiver.rDestroy = [](DestReceiver *) {};
  receiver->receiver.mydest = DestTuplestore;  // anything but what SPI handles itself
  SPIExecuteOptions options = {};
  options.params = parameters;
  options.read_only = true;
  options.must_return_tuples = true;
  options.dest = &receiver->receiver;
  return options;
}

// Returns the columns as in "(id integer, name text)".
const char *describe_columns(TupleDesc columns) {
  StringInfoData text;
  initStringInfo(&text);
  for (int i = 0; i < columns->natts; ++i) {
    const FormData_pg_attribute *column = TupleDescAttr(columns, i);
    appendStringInfo(&text, "%s%s %s", i == 0 ? "(" : ", ", NameStr(column->attname),
                     format_type_be(column->atttypid));
  }
  appendStringInfoString(&text, columns->natts == 0 ? "()" : ")");
  return text.data;
}

}  // namespace

bool is_relation_name(const char *text) {
  bool quoted = false;
  for (const char *c = text; *c != '\0'; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    if (byte == '"') quoted = !quoted;
    if (!quoted && std::isalnum(byte) == 0 && byte < 0x80 && std::strchr("\"_.$", byte) == nullptr)
      return false;
  }
  return *text != '\0';
}

ErrorContextCallback hint_at_name(const char *query) {
  return {error_context_stack, add_hint_at_name, const_cast<char *>(query)};
}

bool is_of_kind(Oid type, ColumnKind kind) {
  const Oid base = getBaseType(type);
  TokenType token_type;
  switch (kind) {
    case ColumnKind::id:
      return is_id_type(base);
    case ColumnKind::number:
      return is_id_type(base) || base == FLOAT4OID || base == FLOAT8OID || base == NUMERICOID;
    case ColumnKind::set:
      return token_type_of(base, &token_type);
    case ColumnKind::reals:
      return base == FLOAT4ARRAYOID;
  }
  return false;
}

bool has_columns(TupleDesc columns, std::initializer_list<ColumnKind> kinds) {
  if (columns->natts != static_cast<int>(kinds.size())) return false;
  int column = 0;
  for (const ColumnKind kind : kinds)
    if (!is_of_kind(TupleDescAttr(columns, column++)->atttypid, kind)) return false;
  return true;
}

void raise_columns(TupleDesc columns, const char *function, const char *needs, const char *hint) {
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("%s: %s", function, needs),
                  errdetail("The query returns %s.", describe_columns(columns)), errhint("%s", hint)));
  pg_unreachable();
}

bool QueryRow::get(int column, Datum *value) const {
  bool isnull;
  *value = slot_getattr(slot, column + 1, &isnull);
  return !isnull;
}

Datum QueryRow::value(int column) const {
  Datum value;
  if (!get(column, &value))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a NULL in column %d", function, column + 1),
                    errhint("Leave such rows out with WHERE ... IS NOT NULL.")));
  return value;
}

double QueryRow::number(int column) const {
  const Datum given = value(column);
  switch (types[column]) {
    case FLOAT4OID:
      return DatumGetFloat4(given);
    case FLOAT8OID:
      return DatumGetFloat8(given);
    case NUMERICOID:
      return DatumGetFloat8(DirectFunctionCall1(numeric_float8, given));
  }
  return static_cast<double>(id_of(given, types[column]));
}

Datum QueryRow::key(int column) const {
  Datum value;
  if (!get(column, &value))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a row whose id is NULL", function),
                    errhint("Leave such rows out with WHERE id IS NOT NULL.")));
  return value;
}

int64 QueryRow::id() const {
  return id_of(key(), types[0]);
}

bool is_id_type(Oid type) {
  const Oid base = getBaseType(type);
  return base == INT2OID || base == INT4OID || base == INT8OID;
}

int64 id_of(Datum value, Oid base_type) {
  switch (base_type) {
    case INT2OID:
      return DatumGetInt16(value);
    case INT4OID:
      return DatumGetInt32(value);
  }
  return DatumGetInt64(value);
}

void run_query(const char *query, QueryReceiver receiver, ParamListInfo parameters) {
  const SPIExecuteOptions options = options_for(&receiver, parameters);
  connect_spi();
  plan_for_receiver(receiver,
                    [&] { parse_query(query, [&] { check_spi(SPI_execute_extended(query, &options)); }); });
  SPI_finish();
}

void run_plan(SPIPlanPtr plan, QueryReceiver receiver, ParamListInfo parameters) {
  const SPIExecuteOptions options = options_for(&receiver, parameters);
  MemoryContext context = CurrentMemoryContext;
  check_spi(SPI_execute_plan_extended(plan, &options));
  MemoryContextSwitchTo(context);  // SPI switches to its own context, which lives as long as the connection
}

void install_query_hooks() {
  install_block_paths();
  next_start_hook = ExecutorStart_hook;
  ExecutorStart_hook = start_executor;
}

}  // namespace simjoin::pg
