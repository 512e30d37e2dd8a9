#include "pg/base/query_rows.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
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
struct TargetReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const RowTarget &target;
  QueryRows rows;
};

void TargetReader::start(TupleDesc columns) {
  rows.token_type = check_row_columns(columns, target.function, rows.keys, target.key.name);
  if (target.other == nullptr || target.other->token_type == rows.token_type) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the queries return sets of different types", target.function),
                  errhint("Cast the sets of one query, as in SELECT id, tokens::bigint[] FROM documents.")));
}

// Adds a set to the engine, unless it is a copy of an earlier set.
void feed(const RowTarget &target, const SetView &set) {
  const bool joined = target.copies == nullptr || call_cpp([&] {
                        return with_tokens(set, [&](auto tokens) { return target.copies->add(tokens); });
                      });
  if (joined) feed_set(target.engine, target.side, set);
}

// Adds the row's id, or its key, whose number is known later.
void add_id(const QueryRow &row, QueryRows *rows) {
  const bool integer = are_integers(rows->keys);
  const int64 id = integer ? row.id() : 0;
  if (!integer) add_key(rows->keys, row.key());
  if (rows->count() == std::numeric_limits<uint32_t>::max())
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("%s: a query returns more than %zu rows", row.function, rows->count())));
  rows->ids.append(id);
}

void TargetReader::take(const QueryRow &row) {
  add_id(row, &rows);
  Datum array;
  if (row.get(1, &array)) {
    const SetView set = view_set(array, target.function);
    feed(target, set);
    free_view(set, array);
  } else {
    feed(target, {rows.token_type, 0, nullptr, nullptr});
  }
  end_row(target.engine, target.spill_file);
}

// Returns the hint of an error about the columns of a query that should be an id and a set.
const char *hint_for_sets(TupleDesc columns, bool integers, const char *key_name) {
  TokenType token_type;
  if (integers && columns->natts >= 2 &&
      TypeCategory(getBaseType(TupleDescAttr(columns, 0)->atttypid)) != TYPCATEGORY_NUMERIC &&
      token_type_of(TupleDescAttr(columns, 1)->atttypid, &token_type)) {
    if (key_name != nullptr)
      return psprintf("Tell the type of the ids by the argument %s, as in %s => NULL::%s.", key_name,
                      key_name, format_type_be(TupleDescAttr(columns, 0)->atttypid));
    return "Give rows with another key a number, as in SELECT row_number() OVER (ORDER BY key), tokens FROM "
           "documents, or a column GENERATED ALWAYS AS IDENTITY.";
  }
  const Oid type = columns->natts < 2 ? InvalidOid : getBaseType(TupleDescAttr(columns, 1)->atttypid);
  if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID)
    return "A set of the pieces or words of a text is made as in SELECT id, shingles(body) FROM documents or "
           "SELECT id, string_to_array(body, ' ') FROM documents.";
  return "Name the columns and cast where necessary, as in SELECT id, tokens::text[] FROM documents.";
}

}  // namespace

TokenType check_row_columns(TupleDesc columns, const char *function, RowKeys *keys, const char *key_name) {
  TokenType token_type;
  if (columns->natts == 2 && token_type_of(TupleDescAttr(columns, 1)->atttypid, &token_type)) {
    if (keys != nullptr) check_key_column(keys, TupleDescAttr(columns, 0));
    if (keys != nullptr || is_id_type(TupleDescAttr(columns, 0)->atttypid)) return token_type;
  }
  raise_columns(columns, function,
                keys == nullptr
                    ? "a query must return two columns, an id (smallint, integer or bigint) and a set "
                      "(integer[], bigint[] or text[])"
                    : "a query must return two columns, an id and a set (integer[], bigint[] or text[])",
                hint_for_sets(columns, keys == nullptr, key_name));
}

void raise_repeated_id(int64 id, const char *function) {
  raise_repeated_key(psprintf(INT64_FORMAT, id), function);
}

QueryRows read_rows(const char *query, const RowTarget &target) {
  RowKeys *keys = create_row_keys(target.key, target.numbers, target.function, target.context);
  TargetReader reader = {target, {GrowingArray<int64>(target.context), TokenType::int4, keys}};
  read_query(query, &reader, target.function);
  if (!are_integers(keys)) number_keys(keys, reader.rows.ids.data());
  return reader.rows;
}

void check_distinct_ids(const QueryRows &rows, const char *function) {
  if (!are_integers(rows.keys)) return;
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
