#include "pg/base/query_rows.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <limits>

#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/query_receiver.hpp"

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
  SetCopies *copies;       // of the sets, or NULL
  bool started;
  Oid id_type;
  QueryRows rows;
  size_t capacity;
};

RowReceiver *receiver_of(DestReceiver *self) {
  return reinterpret_cast<RowReceiver *>(self);
}

void check_same_type(const RowReceiver &receiver) {
  if (receiver.other == nullptr || receiver.other->token_type == receiver.rows.token_type) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the queries return sets of different types", receiver.function),
                  errhint("Cast those of one of them, as in SELECT id, tokens::bigint[] FROM documents.")));
}

void start_rows(DestReceiver *self, int, TupleDesc columns) {
  RowReceiver *receiver = receiver_of(self);
  check_single_statement(&receiver->started, receiver->function);
  check_row_columns(columns, receiver->function, &receiver->id_type, &receiver->rows.token_type);
  check_same_type(*receiver);
}

void append_id(RowReceiver *receiver, int64 id) {
  QueryRows *rows = &receiver->rows;
  if (rows->count == std::numeric_limits<uint32_t>::max())
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s: a query returns more than %zu rows", receiver->function, rows->count)));
  make_room(&rows->ids, rows->count, &receiver->capacity);
  rows->ids[rows->count++] = id;
}

// Adds a set to the engine, unless it is a copy of one that is there.
void feed(RowReceiver *receiver, const SetView &set) {
  const bool joined = receiver->copies == nullptr || call_cpp([&] {
                        return with_tokens(set, [&](auto tokens) { return receiver->copies->add(tokens); });
                      });
  if (joined) feed_set(receiver->engine, receiver->side, set);
}

bool receive_row(TupleTableSlot *slot, DestReceiver *self) {
  RowReceiver *receiver = receiver_of(self);
  bool id_isnull, set_isnull;
  const Datum id = slot_getattr(slot, 1, &id_isnull);
  const Datum array = slot_getattr(slot, 2, &set_isnull);
  if (id_isnull) raise_null_id(receiver->function);
  append_id(receiver, id_of(id, receiver->id_type));
  if (set_isnull) {
    feed(receiver, {receiver->rows.token_type, 0, nullptr, nullptr});
  } else {
    const SetView set = view_set(array, receiver->function);
    feed(receiver, set);
    free_view(set, array);
  }
  offer_spill_file(receiver->engine, receiver->spill_file);
  return true;
}

}  // namespace

const char *hint_for_sets(TupleDesc columns) {
  TokenType token_type;
  if (columns->natts >= 2 &&
      TypeCategory(getBaseType(TupleDescAttr(columns, 0)->atttypid)) != TYPCATEGORY_NUMERIC &&
      token_type_of(TupleDescAttr(columns, 1)->atttypid, &token_type))
    return "Give rows with another key a number, as in SELECT row_number() OVER (ORDER BY key), tokens FROM "
           "documents, or a column GENERATED ALWAYS AS IDENTITY.";
  const Oid type = columns->natts < 2 ? InvalidOid : getBaseType(TupleDescAttr(columns, 1)->atttypid);
  if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID)
    return "A set of the pieces or words of a text is made as in SELECT id, shingles(body) FROM documents or "
           "SELECT id, string_to_array(body, ' ') FROM documents.";
  return "Name the columns and cast where necessary, as in SELECT id, tokens::text[] FROM documents.";
}

void check_row_columns(TupleDesc columns, const char *function, Oid *id_type, TokenType *token_type) {
  if (columns->natts == 2) {
    *id_type = getBaseType(TupleDescAttr(columns, 0)->atttypid);
    if (is_id_type(*id_type) && token_type_of(TupleDescAttr(columns, 1)->atttypid, token_type)) return;
  }
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: a query must return two columns, an id (smallint, integer or bigint) and a set "
                         "(integer[], bigint[] or text[])",
                         function),
                  errdetail("The query returns %s.", describe_columns(columns)),
                  errhint("%s", hint_for_sets(columns))));
}

void raise_null_id(const char *function) {
  ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                  errmsg("%s: a query returns a row whose id is NULL", function),
                  errhint("Leave such rows out with WHERE id IS NOT NULL.")));
  pg_unreachable();
}

void raise_repeated_id(int64 id, const char *function) {
  ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                  errmsg("%s: the id " INT64_FORMAT " occurs more than once", function, id),
                  errhint("Give every row an id of its own, for example row_number() OVER ().")));
  pg_unreachable();
}

QueryRows read_rows(const char *query, JoinEngine *engine, File *spill_file, Side side, const char *function,
                    MemoryContext context, const QueryRows *other, SetCopies *copies) {
  RowReceiver receiver = {};
  receiver.receiver.receiveSlot = receive_row;
  receiver.receiver.rStartup = start_rows;
  receiver.function = function;
  receiver.engine = engine;
  receiver.spill_file = spill_file;
  receiver.side = side;
  receiver.other = other;
  receiver.copies = copies;
  receiver.capacity = first_capacity;
  receiver.rows.ids = static_cast<int64 *>(MemoryContextAlloc(context, first_capacity * sizeof(int64)));

  run_query(query, &receiver.receiver, function);
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
    raise_repeated_id(ids[i], function);
  }
  pfree(ids);
}

}  // namespace simjoin::pg
