#include "pg/base/query_rows.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <limits>

#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/base/query_source.hpp"

namespace simjoin::pg {
namespace {

// Takes the rows of a query.
struct RowReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  JoinEngine *engine;
  File *spill_file;
  Side side;
  const QueryRows *other;  // the rows to join these with, or NULL
  SetCopies *copies;       // recognises equal sets, or NULL
  QueryRows rows;
};

void RowReader::start(TupleDesc columns) {
  rows.token_type = check_row_columns(columns, function);
  if (other == nullptr || other->token_type == rows.token_type) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the queries return sets of different types", function),
                  errhint("Cast the sets of one query, as in SELECT id, tokens::bigint[] FROM documents.")));
}

// Adds a set to the engine, unless it is a copy of an earlier set.
void feed(const RowReader &reader, const SetView &set) {
  const bool joined = reader.copies == nullptr || call_cpp([&] {
                        return with_tokens(set, [&](auto tokens) { return reader.copies->add(tokens); });
                      });
  if (joined) feed_set(reader.engine, reader.side, set);
}

void RowReader::take(const QueryRow &row) {
  const int64 id = row.id();
  if (rows.count() == std::numeric_limits<uint32_t>::max())
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s: a query returns more than %zu rows", function, rows.count())));
  rows.ids.append(id);
  Datum array;
  if (row.get(1, &array)) {
    const SetView set = view_set(array, function);
    feed(*this, set);
    free_view(set, array);
  } else {
    feed(*this, {rows.token_type, 0, nullptr, nullptr});
  }
  end_row(engine, spill_file);
}

// Returns the hint of an error about the columns of a query that should be an id and a set.
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

}  // namespace

TokenType check_row_columns(TupleDesc columns, const char *function) {
  TokenType token_type;
  if (has_columns(columns, {ColumnKind::id, ColumnKind::set}) &&
      token_type_of(TupleDescAttr(columns, 1)->atttypid, &token_type))
    return token_type;
  raise_columns(columns, function,
                "a query must return two columns, an id (smallint, integer or bigint) and a set "
                "(integer[], bigint[] or text[])",
                hint_for_sets(columns));
}

void raise_repeated_id(int64 id, const char *function) {
  ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
                  errmsg("%s: the id " INT64_FORMAT " occurs more than once", function, id),
                  errhint("Give every row an id of its own, for example row_number() OVER ().")));
  pg_unreachable();
}

QueryRows read_rows(const char *query, JoinEngine *engine, File *spill_file, Side side, const char *function,
                    MemoryContext context, const QueryRows *other, SetCopies *copies) {
  RowReader reader = {
      function, engine, spill_file, side, other, copies, {GrowingArray<int64>(context), TokenType::int4}};
  read_query(query, &reader, function);
  return reader.rows;
}

void check_distinct_ids(const QueryRows &rows, const char *function) {
  InterruptCounter interrupts;
  size_t i = 1;
  for (; i < rows.count() && rows.ids[i - 1] < rows.ids[i]; ++i) interrupts.add(1);
  if (i >= rows.count()) return;

  auto *ids = allocate<int64>(rows.count());
  std::copy(rows.ids.begin(), rows.ids.end(), ids);
  sort_interruptibly(
      ids, rows.count(), [](int64 a, int64 b) { return a < b; },
      [](int64 id) { return comparison_cost(id); });
  for (i = 1; i < rows.count(); ++i) {
    interrupts.add(1);
    if (ids[i - 1] != ids[i]) continue;
    raise_repeated_id(ids[i], function);
  }
  pfree(ids);
}

}  // namespace simjoin::pg
