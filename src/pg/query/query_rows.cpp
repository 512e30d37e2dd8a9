#include "pg/query/query_rows.hpp"

extern "C" {
#include "utils/memutils.h"
}

#include <algorithm>
#include <limits>
#include <vector>

#include "core/dedup/id_order.hpp"
#include "core/set_slices.hpp"
#include "pg/base/errors.hpp"
#include "pg/query/query_source.hpp"
#include "pg/rows/packed_rows.hpp"
#include "pg/rows/row_context.hpp"
#include "pg/sets/tokens.hpp"
#include "pg/sets/weighted_set.hpp"
#include "pg/sets/weights.hpp"

namespace simjoin::pg {
namespace {

constexpr size_t most_rows = std::numeric_limits<uint32_t>::max();

// Takes the rows of a query.
struct TargetReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);
  void take_packed(BlockReader *block, const Oid *types);

  const RowTarget &target;
  QueryRows rows;
  SetMaker *maker = nullptr;            // where the query does not return sets
  MemoryContext set_context = nullptr;  // of a set that is made
};

void TargetReader::start(TupleDesc columns) {
  const ColumnCheck check = {target.function, rows.keys, target.key.name, true};
  const SetColumn sets = target.weighted ? check_weighted_columns(columns, check, target.tokenizer)
                                         : check_set_column(columns, check, target.tokenizer, target.context);
  rows.token_type = sets.token_type;
  maker = sets.maker;
  if (maker != nullptr)
    set_context = AllocSetContextCreate(target.context, "set of a text", ALLOCSET_DEFAULT_SIZES);
  if (target.other == nullptr || target.other->token_type == rows.token_type) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("%s: the queries return sets of different types", target.function),
                  errhint("Cast the sets of one query, as in SELECT id, tokens::bigint[] FROM documents.")));
}

// Adds the set of the last row to the engine, unless it is a copy of an earlier set.
void feed(const RowTarget &target, const QueryRows &rows, const SetView &set) {
  const size_t row = rows.count() - 1;
  if (target.sample != nullptr)
    offer_row(target.sample, are_integers(rows.keys) ? rows.ids[row] : static_cast<int64>(row),
              static_cast<uint32>(row), set);
  if (target.equal != nullptr)
    call_cpp([&] { with_tokens(set, [&](auto tokens) { target.equal->add(tokens); }); });
  const bool joined = target.copies == nullptr || call_cpp([&] {
                        return with_tokens(set, [&](auto tokens) { return target.copies->add(tokens); });
                      });
  if (joined) feed_set(target.engine, target.side, set);
}

// Adds a set with its weights to the engine, unless it is a copy of an earlier set.
void feed_weights(const RowTarget &target, Datum array, Datum weights) {
  const SetView set = view_set(array, target.function);
  ArrayType *weight_array = DatumGetArrayTypeP(weights);
  feed_weighted_set(target.engine, target.side, set, view_weights(weight_array, set, target.function),
                    nullptr, target.copies);
  free_view(set, array);
  if (PointerGetDatum(weight_array) != weights) pfree(weight_array);
}

[[noreturn]] void raise_many_rows(const QueryRows &rows, const char *function) {
  ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                  errmsg("%s: a query returns more than %zu rows", function, rows.count())));
  pg_unreachable();
}

// Adds the row's id, or its key, whose number in the order of keys is known later.
void add_row_id(const QueryRow &row, QueryRows *rows) {
  const int64 id = add_id(rows->keys, row);
  if (rows->count() == most_rows) raise_many_rows(*rows, row.function);
  rows->ids.append(id);
}

void TargetReader::take(const QueryRow &row) {
  add_row_id(row, &rows);
  Datum value, weights;
  if (!row.get(1, &value) || (target.weighted && !row.get(2, &weights))) {
    feed(target, rows, {rows.token_type, 0, nullptr, nullptr});
  } else if (target.weighted) {
    feed_weights(target, value, weights);
  } else if (maker != nullptr && !row.has_set) {
    in_row_context(set_context,
                   [&] { feed(target, rows, view_set(make_set(*maker, value), target.function)); });
  } else {
    const SetView set = view_set(value, target.function);
    feed(target, rows, set);
    free_view(set, value);
  }
  end_row(target.engine, target.spill_file);
}

// Adds the sets to the engine, but for copies of earlier ones.
void feed_without_copies(const RowTarget &target, const SetSlice &sets) {
  std::vector<uint32_t> tags;
  tags.reserve(sets.rows);
  for_each_integer_set(sets, [&](auto set) { tags.push_back(target.copies->prepare(set)); });
  SetSlice run = {sets.type, sets.tokens, sets.lengths};
  const uint32_t *tag = tags.data();
  for_each_integer_set(sets, [&](auto set) {
    const bool joined = target.copies->add_prepared(set, *tag++);
    if (joined) {
      ++run.rows;
      run.token_count += set.size();
      return;
    }
    if (run.rows > 0) target.engine->add(target.side, run);
    run = {sets.type, reinterpret_cast<const char *>(set.data() + set.size()), run.lengths + run.rows + 1};
  });
  if (run.rows > 0) target.engine->add(target.side, run);
}

// Takes those up to a NULL id or a row of the sample, which take() takes then. The ids are integers,
// since there is a column beside the sets.
void TargetReader::take_packed(BlockReader *block, const Oid *types) {
  if (!are_integers(rows.keys) || target.weighted) return;
  uint32_t count = 0;
  const ApartSets &apart = block->apart;
  const auto most = static_cast<uint32_t>(most_rows - rows.count());
  for (const char *row = block->packed; count < std::min(block->packed_rows, most); ++count) {
    Datum values[2];
    bool nulls[2];
    unpack_row(apart.columns, apart.column, row, values, nulls);
    if (nulls[0]) break;
    const int64 id = id_of(values[0], types[0]);
    if (target.sample != nullptr && would_take(*target.sample, id, static_cast<uint32>(rows.count()))) break;
    rows.ids.append(id);
    row += apart.row_bytes;
  }
  const SetSlice sets = packed_sets(*block, count);
  if (sets.rows == 0) return;
  call_cpp([&] {
    if (target.equal != nullptr) for_each_integer_set(sets, [&](auto set) { target.equal->add(set); });
    if (target.copies != nullptr)
      feed_without_copies(target, sets);
    else
      target.engine->add(target.side, sets);
  });
  pass_packed_rows(block, sets);
  end_rows(target.engine, count, target.spill_file);
}

}  // namespace

void raise_repeated_id(int64 id, const char *function) {
  raise_repeated_key(psprintf(INT64_FORMAT, id), function);
}

QueryRows read_rows(const char *query, const RowTarget &target) {
  RowKeys *keys = create_row_keys(target.key, target.numbers, target.function, target.context);
  TargetReader reader = {target, {GrowingArray<int64>(target.context), TokenType::int4, keys}};
  // A sample of rows without numbers of their own depends on their order. Keys are compared while rows come.
  if (target.in_order || (!are_integers(keys) && (target.sample != nullptr || !are_parallel_safe(keys))))
    read_watched_query(query, &reader, target.function, target.engine);
  else
    read_blocks_of_query(query, &reader, target.function, target.engine, target.tokenizer);
  if (!are_integers(keys)) number_keys(keys, reader.rows.ids.data());
  return reader.rows;
}

void check_distinct_ids(const QueryRows &rows, const char *function) {
  if (!are_integers(rows.keys)) return;
  const auto repeated = call_cpp([&] { return repeated_id(rows.ids.data(), rows.count()); });
  if (repeated) raise_repeated_id(*repeated, function);
}

}  // namespace simjoin::pg
