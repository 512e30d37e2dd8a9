#include "pg/query_rows.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <limits>

#include "pg/tokens.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t first_capacity = 1024;

// Takes the rows of a query from the executor.
struct RowReceiver {
  DestReceiver receiver;
  const char *function;
  JoinEngine *engine;
  File *spill_file;
  Side side;
  const QueryRows *other;  // whose sets these are to be joined with, or NULL
  bool started;
  Oid id_type;
  QueryRows rows;
  size_t capacity;
};

RowReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<RowReceiver *>(self);
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

void check_same_type(const RowReceiver &receiver) {
  if (receiver.other == nullptr || receiver.other->token_type == receiver.rows.token_type) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the queries return sets of different types", receiver.function),
                  errhint("Cast those of one of them, as in SELECT id, tokens::bigint[] FROM documents.")));
}

// Checks the query's columns.
void start_rows(DestReceiver *self, int, TupleDesc columns) {
  RowReceiver *receiver = receiver_of(self);
  if (receiver->started)
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                    errmsg("%s: a query must be a single statement", receiver->function)));
  receiver->started = true;
  if (columns->natts == 2) {
    receiver->id_type = getBaseType(TupleDescAttr(columns, 0)->atttypid);
    const bool valid_id =
        receiver->id_type == INT2OID || receiver->id_type == INT4OID || receiver->id_type == INT8OID;
    if (valid_id && token_type_of(TupleDescAttr(columns, 1)->atttypid, &receiver->rows.token_type))
      return check_same_type(*receiver);
  }
  ereport(
      ERROR,
      (errcode(ERRCODE_DATATYPE_MISMATCH),
       errmsg("%s: a query must return two columns, an id (smallint, integer or bigint) and a set "
              "(integer[], bigint[] or text[])",
              receiver->function),
       errdetail("The query returns %s.", describe_columns(columns)),
       errhint(
           "Name the columns and cast where necessary, as in SELECT id, tokens::text[] FROM documents.")));
}

int64 id_of(Datum value, Oid type) {
  switch (type) {
    case INT2OID:
      return DatumGetInt16(value);
    case INT4OID:
      return DatumGetInt32(value);
  }
  return DatumGetInt64(value);
}

void append_id(RowReceiver *receiver, int64 id) {
  QueryRows *rows = &receiver->rows;
  if (rows->count == std::numeric_limits<uint32_t>::max())
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s: a query returns more than %zu rows", receiver->function, rows->count)));
  if (rows->count == receiver->capacity) {
    receiver->capacity *= 2;
    rows->ids = static_cast<int64 *>(repalloc_huge(rows->ids, receiver->capacity * sizeof(int64)));
  }
  rows->ids[rows->count++] = id;
}

bool receive_row(TupleTableSlot *slot, DestReceiver *self) {
  RowReceiver *receiver = receiver_of(self);
  bool id_isnull, set_isnull;
  const Datum id = slot_getattr(slot, 1, &id_isnull);
  const Datum array = slot_getattr(slot, 2, &set_isnull);
  if (id_isnull)
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: a query returns a row whose id is NULL", receiver->function),
                    errhint("Leave such rows out with WHERE id IS NOT NULL.")));
  append_id(receiver, id_of(id, receiver->id_type));
  if (set_isnull) {
    feed_empty_set(receiver->engine, receiver->side, receiver->rows.token_type);
  } else {
    const SetView set = view_set(array, receiver->function);
    feed_set(receiver->engine, receiver->side, set);
    free_view(set, array);
  }
  offer_spill_file(receiver->engine, receiver->spill_file);
  return true;
}

}  // namespace

QueryRows read_rows(const char *query, JoinEngine *engine, File *spill_file, Side side, const char *function,
                    MemoryContext context, const QueryRows *other) {
  RowReceiver receiver = {};
  receiver.receiver.receiveSlot = receive_row;
  receiver.receiver.rStartup = start_rows;
  receiver.receiver.rShutdown = [](DestReceiver *) {};
  receiver.receiver.rDestroy = [](DestReceiver *) {};
  receiver.receiver.mydest = DestTuplestore;  // anything but what SPI handles itself
  receiver.function = function;
  receiver.engine = engine;
  receiver.spill_file = spill_file;
  receiver.side = side;
  receiver.other = other;
  receiver.capacity = first_capacity;
  receiver.rows.ids = static_cast<int64 *>(MemoryContextAlloc(context, first_capacity * sizeof(int64)));

  SPIExecuteOptions options = {};
  options.read_only = true;
  options.must_return_tuples = true;
  options.dest = &receiver.receiver;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "%s: SPI_connect failed", function);
  const int result = SPI_execute_extended(query, &options);
  if (result < 0) elog(ERROR, "%s: %s", function, SPI_result_code_string(result));
  SPI_finish();
  return receiver.rows;
}

void check_distinct_ids(const QueryRows &rows, const char *function) {
  InterruptCounter interrupts;
  size_t i = 1;
  for (; i < rows.count && rows.ids[i - 1] < rows.ids[i]; ++i) interrupts.add(1);
  if (i >= rows.count) return;

  auto *ids = allocate<int64>(rows.count);
  std::copy_n(rows.ids, rows.count, ids);
  sort_interruptibly(
      ids, rows.count, [](int64 a, int64 b) { return a < b; }, [](int64 id) { return comparison_cost(id); });
  for (i = 1; i < rows.count; ++i) {
    interrupts.add(1);
    if (ids[i - 1] != ids[i]) continue;
    ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                    errmsg("%s: the id " INT64_FORMAT " occurs more than once", function, ids[i]),
                    errhint("Give every row an id of its own, for example row_number() OVER ().")));
  }
  pfree(ids);
}

}  // namespace simjoin::pg
