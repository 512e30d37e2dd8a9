#include "pg/functions/verdicts.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cstring>

#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

constexpr uint32_t no_row = UINT32_MAX;

// Verdicts as they were read.
struct VerdictList {
  RowKeys *keys;            // of the rows, then of both sides of each verdict; nullptr where ids are integers
  GrowingArray<int64> ids;  // of both sides of each verdict; keys are not among them
  GrowingArray<bool> same;  // of each verdict
};

// Takes (a, b, verdict).
struct VerdictReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);

  const char *function;
  const QueryRows *rows;
  VerdictList *list;
};

void VerdictReader::start(TupleDesc columns) {
  bool fits = columns->natts == 3;
  for (int i = 0; fits && i < 2; ++i) {
    if (list->keys != nullptr)
      check_key_column(list->keys, TupleDescAttr(columns, i));
    else
      fits = is_of_kind(TupleDescAttr(columns, i)->atttypid, ColumnKind::id);
  }
  const Oid type = fits ? getBaseType(TupleDescAttr(columns, 2)->atttypid) : InvalidOid;
  if (type != TEXTOID && type != VARCHAROID)
    raise_columns(columns, function, "a query for verdicts must return two ids and a text",
                  "Name the columns, as in SELECT a, b, verdict FROM verdicts.");
  if (list->keys == nullptr) return;
  InterruptCounter interrupts;
  for (size_t row = 0; row < rows->count(); ++row) {
    interrupts.add(500);
    add_key(list->keys, key_at(rows->keys, rows->ids[row], 0));
  }
}

// Returns whether a verdict is 'same'. Errors unless it is that or 'different'.
bool is_same(Datum verdict, const char *function) {
  const char *given = TextDatumGetCString(verdict);
  const bool same = std::strcmp(given, "same") == 0;
  if (!same && std::strcmp(given, "different") != 0)
    raise_argument(function, "verdict", quote_literal_cstr(given), "The verdicts are same and different.");
  return same;
}

void VerdictReader::take(const QueryRow &row) {
  const Datum sides[] = {row.value(0), row.value(1)};
  Datum verdict;
  if (!row.get(2, &verdict)) return;  // not decided yet
  list->same.append(is_same(verdict, function));
  for (int i = 0; i < 2; ++i) {
    if (list->keys != nullptr)
      add_key(list->keys, sides[i]);
    else
      list->ids.append(id_of(sides[i], row.types[i]));
  }
}

// Returns the rows of both sides of each verdict, or no_row. Keys become numbers that the rows share.
uint32_t *rows_of_keys(const VerdictList &list, size_t rows) {
  const size_t sides = 2 * list.same.size(), all = rows + sides;
  auto *numbers = allocate<int64>(all);
  auto *row_of = allocate<uint32_t>(all);
  auto *result = allocate<uint32_t>(sides);
  number_keys(list.keys, numbers);
  std::fill_n(row_of, all, no_row);
  InterruptCounter interrupts;
  for (size_t row = 0; row < rows; ++row) {
    interrupts.add(10);
    row_of[numbers[row]] = static_cast<uint32_t>(row);
  }
  for (size_t i = 0; i < sides; ++i) result[i] = row_of[numbers[rows + i]];
  pfree(numbers);
  pfree(row_of);
  return result;
}

struct RowOfId {
  int64 id;
  uint32_t row;
};

uint32_t *rows_of_ids(const VerdictList &list, const QueryRows &rows) {
  auto *order = allocate<RowOfId>(rows.count());
  auto *result = allocate<uint32_t>(list.ids.size());
  for (size_t row = 0; row < rows.count(); ++row) order[row] = {rows.ids[row], static_cast<uint32_t>(row)};
  const auto less = [](const RowOfId &a, const RowOfId &b) { return a.id < b.id; };
  sort_interruptibly(order, rows.count(), less, [](const RowOfId &) { return size_t{1}; });
  InterruptCounter interrupts;
  for (size_t i = 0; i < list.ids.size(); ++i) {
    interrupts.add(1000);
    const RowOfId *end = order + rows.count();
    const RowOfId *found = std::lower_bound<const RowOfId *>(order, end, RowOfId{list.ids[i], 0}, less);
    result[i] = found < end && found->id == list.ids[i] ? found->row : no_row;
  }
  pfree(order);
  return result;
}

}  // namespace

void add_verdicts(const char *query, const QueryRows &rows, const KeyArgument &key, RowGrouping *grouping) {
  const char *function = grouping->function;
  VerdictList list = {nullptr, GrowingArray<int64>(grouping->context), GrowingArray<bool>(grouping->context)};
  if (!are_integers(rows.keys))
    list.keys = create_row_keys(key, KeyNumbers::shared, function, grouping->context);
  VerdictReader reader = {function, &rows, &list};
  read_query(query, &reader, function);
  const uint32_t *sides = list.keys == nullptr ? rows_of_ids(list, rows) : rows_of_keys(list, rows.count());
  size_t unknown = 0;
  InterruptCounter interrupts;
  for (size_t i = 0; i < list.same.size(); ++i) {
    interrupts.add(100);
    const uint32_t a = sides[2 * i], b = sides[2 * i + 1];
    if (a == no_row || b == no_row)
      ++unknown;
    else
      call_cpp([&] { grouping->work->judged->add_verdict(a, b, list.same[i]); });
  }
  close_row_keys(list.keys);
  if (unknown > 0)
    ereport(NOTICE, (errmsg("%s: %zu of %zu verdicts name rows that the query does not return", function,
                            unknown, list.same.size())));
}

void report_contradictions(const RowGrouping &grouping) {
  const VerdictReport &report = grouping.work->judged->report();
  if (report.contradictions == 0) return;
  StringInfoData examples;
  initStringInfo(&examples);
  const size_t named = std::min<size_t>(report.contradictions, VerdictReport::most_examples);
  for (size_t i = 0; i < named; ++i)
    appendStringInfo(&examples, "%s%s and %s", i == 0 ? "" : ", ",
                     key_text(grouping.keys, grouping.ids[report.examples[i].a]),
                     key_text(grouping.keys, grouping.ids[report.examples[i].b]));
  ereport(
      WARNING,
      (errmsg("%s: " UINT64_FORMAT " verdicts same are left out, since verdicts different contradict them",
              grouping.function, report.contradictions),
       errdetail("Such rows: %s.", examples.data),
       errhint("Rows that are the same as others must not be different from each other. Remove a verdict "
               "of each such pair or of the rows between them.")));
}

}  // namespace simjoin::pg
