#include "pg/dedup/index.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

#include <algorithm>
#include <iterator>
#include <memory>

#include "pg/base/relation_names.hpp"
#include "pg/base/statements.hpp"
#include "pg/query/table_writer.hpp"
#include "pg/sets/arrays.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

// A new order is made when the rows have doubled and grown by this number. An order is worth little to few
// rows.
constexpr int64 rows_worth_an_order = 1000;
// From one new row in rebuild_share on, building the index anew takes less time than adding the rows (1 M
// rows of 20 integers).
constexpr size_t rebuild_share = 10;

// Looking an entry up takes as long as reading this many rows (1 M rows of 20 integers), so a set with more
// entries is compared with all rows of its range. The entries of a set are made in 10 ms.
constexpr int64 rows_an_entry = 30, least_entries = 64, most_entries = 1 << 20;

// Returns the codes as an integer[].
ArrayType *array_of(std::span<const TokenCode> codes) {
  const auto array = make_array<int32>(codes.size());
  std::copy(codes.begin(), codes.end(), array.elements);
  return array.array;
}

void write_indexed_row(TableWriter *writer, const DedupState &state, size_t i, const PrefixColumns &prefix) {
  const DedupRow &row = state.rows[i];
  Datum values[6] = {Int64GetDatum(row.id), PointerGetDatum(&row.print)};
  Datum *rest = std::copy_n(prefix.values, prefix.count, values + 2);
  *rest = stored_key_of(state, i);  // where the table has keys
  const bool nulls[std::size(values)] = {};
  write_row(writer, values, nulls);
}

// What a new order is made of.
struct Frequencies {
  TokenCounts counts;
  std::vector<TokenCode> codes;
};

// Puts the tokens of the rows in a new order, and stores it. Forgets all stored rows, since their prefixes
// differ in the new order.
PrefixOrder make_order(const DedupState &state, const DedupDefinition &definition) {
  auto *frequencies = own(state.context, [] { return std::make_unique<Frequencies>(); });
  for_rows(state, [&](size_t, TupleTableSlot *slot) {
    with_set(state, slot, [&](const SetView &set, const float *) {
      for_token_blocks(set, [&](auto tokens) { call_cpp([&] { frequencies->counts.add(tokens); }); });
    });
  });
  call_cpp([&] { frequencies->codes = frequencies->counts.most_frequent(most_frequent_tokens); });
  const PrefixOrder order = create_order(definition, frequencies->codes, state.context);
  const char *table = relation_name(definition.order);
  execute_statement(psprintf("DELETE FROM ONLY %s", table));
  Oid types[] = {INT8OID, INT4ARRAYOID};
  Datum values[] = {Int64GetDatum(static_cast<int64>(state.count())),
                    PointerGetDatum(array_of(frequencies->codes))};
  execute_statement(psprintf("INSERT INTO %s (rows, ordered_rows, frequent) VALUES ($1, $1, $2)", table), 2,
                    types, values);
  execute_statement(psprintf("DELETE FROM ONLY %s", state.rows_table));
  return order;
}

// Finds the rows whose prefixes share a code with a given one's.
struct Prober {
  void start(TupleDesc) {}  // the query is ours
  void take(const QueryRow &row);

  DedupState *state;
  PrefixOrder order;
  SPIPlanPtr plans[3];       // without entries, with some of one kind, and with some of another kind as well
  size_t most_entries;       // of a set that is looked up
  ParamListInfo parameters;  // the smallest and the largest size or total, the entries, the further ones
  RowPrefix prefix;
  GrowingArray<int64> candidates;
};

void Prober::take(const QueryRow &row) {
  int64 id;
  if (!may_be_similar(prefix, order, {row.slot, state->rows_table}, &id)) return;
  const bool is_new = call_cpp([&] {
    NodeNumbers &numbers = state->numbers->numbers;
    const uint32_t known = numbers.count();
    return numbers.number_of(id) == known;
  });
  // Other rows were met before, or are among the changed rows.
  if (is_new) candidates.append(id);
}

Prober start_prober(DedupState *state, const TokenIndex &index) {
  Prober prober = {};
  prober.state = state;
  prober.order = index.order;
  prober.most_entries =
      static_cast<size_t>(std::clamp<int64>(index.rows / rows_an_entry, least_entries, most_entries));
  prober.candidates = GrowingArray<int64>(state->context);
  Oid range_type;
  const char *query = query_by_range(*state, &range_type);
  Oid types[] = {range_type, range_type, INT4ARRAYOID, INT4ARRAYOID};
  for (int entries = 0; entries <= 2; ++entries) {
    prober.plans[entries] = prepare_statement(query, 2 + entries, types);
    query = psprintf("%s AND prefix OPERATOR(pg_catalog.&&) $%d", query, 3 + entries);
  }
  prober.parameters = makeParamList(std::size(types));
  for (size_t i = 0; i < std::size(types); ++i)
    prober.parameters->params[i] = {0, false, PARAM_FLAG_CONST, types[i]};
  return prober;
}

void probe(Prober *prober, const RowPrefix &prefix, const Bounds &bounds) {
  prober->prefix = prefix;
  ParamExternData *parameters = prober->parameters->params;
  const auto lookups = lookups_of(prefix, prober->order, prober->most_entries);
  if (lookups && lookups->empty()) return;
  Datum range[2];
  range_of(prefix, prober->order, bounds, range);
  for (int i = 0; i < 2; ++i) parameters[i].value = range[i];
  const auto run = [&](int entries) {
    run_plan(prober->plans[entries], receiver_for(prober, prober->state->function), prober->parameters);
  };
  if (!lookups) run(0);
  for (const PrefixLookup &lookup : lookups.value_or(std::span<const PrefixLookup>())) {
    ArrayType *const entries[] = {array_of(lookup.one), array_of(lookup.other)};
    for (int i = 0; i < 2; ++i) parameters[2 + i].value = PointerGetDatum(entries[i]);
    run(lookup.other.empty() ? 1 : 2);
    for (ArrayType *array : entries) pfree(array);
  }
}

}  // namespace

TokenIndex read_token_index(const DedupDefinition &definition, MemoryContext context) {
  const char *table = relation_name(definition.order);
  TokenIndex index = {};
  const auto take_order = [&](const StoredRow &row) {
    if (index.exists) raise_damaged(row.part);
    const StoredOrder order = stored_order(row);
    index = {true, order.rows, order.ordered_rows, create_order(definition, order.frequent.codes, context)};
    free_codes(order.frequent);
  };
  run_over_part(psprintf("SELECT rows, ordered_rows, frequent FROM ONLY %s", table), table, "dedup view",
                take_order);
  return index;
}

bool needs_new_order(const TokenIndex &index, int64 rows) {
  return !index.exists || rows > 2 * index.ordered_rows + rows_worth_an_order;
}

void store_indexed_rows(DedupState *state, const DedupDefinition &definition) {
  TokenIndex index = read_token_index(definition, state->context);
  const auto rows = static_cast<int64>(state->count());
  const bool all = needs_new_order(index, rows);
  if (all)
    index.order = make_order(*state, definition);
  else
    store_row_count(definition, rows);
  const auto changed = static_cast<size_t>(state->figures.new_rows + state->figures.changed_rows);
  const bool many = all || changed > state->count() / rebuild_share;
  Relation relation = state->parts->rows;
  TableWriter *writer = open_writer(relation, many ? Indexes::all_but_gin : Indexes::all);
  for_rows(*state, [&](size_t row, TupleTableSlot *slot) {
    if (!all && state->rows[row].state == RowState::kept) return;
    const RowPrefix prefix = row_prefix(*state, index.order, slot);
    const PrefixColumns columns = columns_of(prefix, index.order);
    write_indexed_row(writer, *state, row, columns);
    free_prefix(prefix, columns);
  });
  close_writer(writer);
  if (many) rebuild_left_out(relation);
}

void store_and_find_candidates(DedupState *state, const TokenIndex &index) {
  const Bounds bounds(state->measure.measure, state->definition->threshold);
  TableWriter *writer = open_writer(state->parts->rows);
  connect_spi();
  const int level = NewGUCNestLevel();
  // Without statistics of the table, or with old ones, the planner might read all of it.
  set_until_end("enable_seqscan", "off");
  set_until_end("enable_bitmapscan", "on");
  // All rows are needed, even if the session has set a limit.
  set_until_end("gin_fuzzy_search_limit", "0");
  Prober prober = start_prober(state, index);
  MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "row", ALLOCSET_DEFAULT_SIZES);
  for_rows(*state, [&](size_t row, TupleTableSlot *slot) {
    if (state->rows[row].state == RowState::kept) return;
    MemoryContext old = MemoryContextSwitchTo(row_context);
    const RowPrefix prefix = row_prefix(*state, index.order, slot);
    probe(&prober, prefix, bounds);
    write_indexed_row(writer, *state, row, columns_of(prefix, index.order));
    MemoryContextSwitchTo(old);
    MemoryContextReset(row_context);
  });
  AtEOXact_GUC(true, level);
  SPI_finish();
  close_writer(writer);
  add_kept_rows(state, prober.candidates);
}

void store_row_count(const DedupDefinition &definition, int64 rows) {
  Oid type = INT8OID;
  Datum value = Int64GetDatum(rows);
  execute_statement(psprintf("UPDATE ONLY %s SET rows = $1", relation_name(definition.order)), 1, &type,
                    &value);
}

}  // namespace simjoin::pg
