#include "pg/dedup/view_verdicts.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>
#include <tuple>

#include "pg/base/interruptible.hpp"
#include "pg/base/relation_names.hpp"
#include "pg/dedup/id_queries.hpp"
#include "pg/functions/verdicts.hpp"
#include "pg/query/table_writer.hpp"

namespace simjoin::pg {
namespace {

constexpr ItemPointerData no_row_place = {};

bool precedes(const StoredVerdict &x, const StoredVerdict &y) {
  return std::tie(x.a, x.b, x.same) < std::tie(y.a, y.b, y.same);
}

void add_verdict(GrowingArray<StoredVerdict> *verdicts, int64 a, int64 b, bool same) {
  verdicts->append({no_row_place, std::min(a, b), std::max(a, b), same});
}

template <class Item, class Less>
void sort_items(GrowingArray<Item> *items, Less less) {
  sort_interruptibly(items->data(), items->size(), less, [](const Item &) { return size_t{1}; });
}

// Leaves one of each.
void make_verdicts_distinct(GrowingArray<StoredVerdict> *verdicts) {
  sort_items(verdicts, precedes);
  const auto *end =
      std::unique(verdicts->begin(), verdicts->end(),
                  [](const StoredVerdict &x, const StoredVerdict &y) { return !precedes(x, y); });
  verdicts->shorten(static_cast<size_t>(end - verdicts->begin()));
}

// Returns the verdicts of the last refresh in ascending order.
GrowingArray<StoredVerdict> stored_verdicts(const DedupState &state, const char *table) {
  GrowingArray<StoredVerdict> stored(state.context);
  const MemoryCounter *memory = create_verdict_memory(state.context);
  run_over_part(psprintf("SELECT ctid, a, b, same FROM ONLY %s", table), table, state.function,
                [&](const StoredRow &row) {
                  check_room(*memory, stored.size());
                  stored.append(stored_verdict(row));
                });
  sort_items(&stored, precedes);
  for (size_t i = 1; i < stored.size(); ++i)
    if (!precedes(stored[i - 1], stored[i])) raise_damaged(table);
  return stored;
}

// Stores the verdicts, which are ascending and distinct. Returns the rows of those that are new or gone.
GrowingArray<int64> store_verdicts(const DedupState &state, const GrowingArray<StoredVerdict> &verdicts) {
  const char *table = relation_name(state.definition->judged);
  const GrowingArray<StoredVerdict> stored = stored_verdicts(state, table);
  GrowingArray<int64> changed(state.context);
  TableWriter *writer = open_writer(state.parts->judged);
  const auto note = [&](const StoredVerdict &verdict) {
    changed.append(verdict.a);
    changed.append(verdict.b);
  };
  const auto add = [&](const StoredVerdict &verdict) {
    constexpr bool nulls[] = {false, false, false};
    const Datum values[] = {Int64GetDatum(verdict.a), Int64GetDatum(verdict.b), BoolGetDatum(verdict.same)};
    write_row(writer, values, nulls);
    note(verdict);
  };
  const auto remove = [&](StoredVerdict *verdict) {
    if (!erase_row(writer, &verdict->place, GetActiveSnapshot())) raise_damaged(table);
    note(*verdict);
  };
  size_t next = 0;  // both lists are passed side by side
  for (StoredVerdict &old : stored) {
    check_interrupts();
    while (next < verdicts.size() && precedes(verdicts[next], old)) add(verdicts[next++]);
    if (next < verdicts.size() && !precedes(old, verdicts[next]))
      ++next;
    else
      remove(&old);
  }
  while (next < verdicts.size()) add(verdicts[next++]);
  close_writer(writer);
  return changed;
}

// Takes (a, b, verdict, number of a, number of b) of the view with the verdicts.
struct NumberedReader {
  void start(TupleDesc) {}
  void take(const QueryRow &row) {
    for (int side = 0; side < 2; ++side) id_in_verdict(row, side, function);
    Datum verdict, a, b;
    if (!row.get(2, &verdict)) return;  // not decided yet
    ++all;
    check_room(*memory, verdicts->size());
    const bool same = is_same(verdict, function);
    if (row.get(3, &a) && row.get(4, &b)) add_verdict(verdicts, DatumGetInt64(a), DatumGetInt64(b), same);
  }

  const char *function;
  const MemoryCounter *memory;
  GrowingArray<StoredVerdict> *verdicts;
  size_t all;
};

// Returns the query for all verdicts and the numbers of their rows, which are NULL where there is no row.
const char *verdicts_by_number(const DedupState &state) {
  const TupleDesc columns = RelationGetDescr(state.parts->verdicts);
  const char *names[3];
  for (int i = 0; i < 3; ++i)
    names[i] = psprintf("v.%s", quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
  const TupleDesc row_columns = RelationGetDescr(state.parts->rows);
  const Oid collation = TupleDescAttr(row_columns, row_columns->natts - 1)->attcollation;
  const DedupDefinition &definition = *state.definition;
  return psprintf("SELECT %s, %s, %s, %s, %s FROM %s v", names[0], names[1], names[2],
                  stored_number_of(definition, names[0], collation),
                  stored_number_of(definition, names[1], collation), relation_name(definition.verdicts));
}

// Adds each pair of rows that are the same, both ways, in the order of the rows.
void note_same_rows(ViewVerdicts *verdicts) {
  for (const StoredVerdict &verdict : verdicts->all) {
    if (!verdict.same) continue;
    verdicts->same.append({verdict.a, verdict.b});
    verdicts->same.append({verdict.b, verdict.a});
  }
  sort_items(&verdicts->same, [](const SameRow &x, const SameRow &y) { return x.id < y.id; });
}

}  // namespace

std::span<const SameRow> same_as(const ViewVerdicts &verdicts, int64 id) {
  const auto [begin, end] = std::equal_range(verdicts.same.begin(), verdicts.same.end(), SameRow{id, 0},
                                             [](const SameRow &x, const SameRow &y) { return x.id < y.id; });
  return {begin, end};
}

void bind_groups(const DedupState &state, RowGrouping *grouping) {
  const char *query = psprintf("SELECT * FROM %s", relation_name(state.definition->verdicts));
  const GrowingArray<RowVerdict> verdicts = read_verdicts(query, *grouping);
  add_verdicts(verdicts, grouping);
  if (!state.definition->tracked()) return;
  GrowingArray<StoredVerdict> numbered(state.context);
  for (const RowVerdict &verdict : verdicts)
    add_verdict(&numbered, state.rows[verdict.a].id, state.rows[verdict.b].id, verdict.same);
  make_verdicts_distinct(&numbered);
  store_verdicts(state, numbered);
}

ViewVerdicts read_view_verdicts(const DedupState &state) {
  ViewVerdicts result = {
      GrowingArray<StoredVerdict>(state.context), GrowingArray<SameRow>(state.context), {}};
  check_verdict_columns(RelationGetDescr(state.parts->verdicts), state.keys, state.function);
  NumberedReader reader = {state.function, create_verdict_memory(state.context), &result.all, 0};
  read_query(verdicts_by_number(state), &reader, state.function);
  note_unknown_rows(reader.all - result.all.size(), reader.all, state.function);
  make_verdicts_distinct(&result.all);
  result.changed_rows = store_verdicts(state, result.all);
  note_same_rows(&result);
  return result;
}

}  // namespace simjoin::pg
