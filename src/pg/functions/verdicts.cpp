#include "pg/functions/verdicts.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/base/memory_shares.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/interruptible.hpp"
#include "pg/query/query_source.hpp"

namespace simjoin::pg {
namespace {

constexpr uint32_t no_row = UINT32_MAX;
constexpr size_t bytes_of_verdict = 64;  // as it is read, and numbered

// Verdicts as they were read.
struct VerdictList {
  RowKeys *keys;            // of the rows, then of both sides of each verdict; nullptr where ids are integers
  GrowingArray<int64> ids;  // of both sides of each verdict; keys are not among them
  GrowingArray<bool> same;  // of each verdict
};

// Takes (a, b, verdict).
struct VerdictReader {
  void start(TupleDesc columns) { check_verdict_columns(columns, list->keys, function); }
  void take(const QueryRow &row);

  const char *function;
  VerdictList *list;
  const MemoryCounter *memory;
};

void VerdictReader::take(const QueryRow &row) {
  const Datum sides[] = {id_in_verdict(row, 0, function), id_in_verdict(row, 1, function)};
  Datum verdict;
  if (!row.get(2, &verdict)) return;  // not decided yet
  check_room(*memory, list->same.size());
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

uint32_t *rows_of_ids(const VerdictList &list, const RowGrouping &grouping) {
  auto *order = allocate<RowOfId>(grouping.rows);
  auto *result = allocate<uint32_t>(list.ids.size());
  for (size_t row = 0; row < grouping.rows; ++row)
    order[row] = {grouping.ids[row], static_cast<uint32_t>(row)};
  const auto less = [](const RowOfId &a, const RowOfId &b) { return a.id < b.id; };
  sort_interruptibly(order, grouping.rows, less, [](const RowOfId &) { return size_t{1}; });
  InterruptCounter interrupts;
  for (size_t i = 0; i < list.ids.size(); ++i) {
    interrupts.add(1000);
    const RowOfId *end = order + grouping.rows;
    const RowOfId *found = std::lower_bound<const RowOfId *>(order, end, RowOfId{list.ids[i], 0}, less);
    result[i] = found < end && found->id == list.ids[i] ? found->row : no_row;
  }
  pfree(order);
  return result;
}

// Returns keys like those of the rows, which are the first ones.
RowKeys *keys_of_rows(const RowGrouping &grouping) {
  RowKeys *keys = create_keys_like(*grouping.keys, KeyNumbers::shared, grouping.context);
  InterruptCounter interrupts;
  for (size_t row = 0; row < grouping.rows; ++row) {
    interrupts.add(500);
    add_key(keys, key_at(grouping.keys, grouping.ids[row], 0));
  }
  return keys;
}

}  // namespace

void check_verdict_columns(TupleDesc columns, RowKeys *keys, const char *function) {
  bool fits = columns->natts == 3;
  for (int i = 0; fits && i < 2; ++i) {
    if (keys != nullptr)
      check_key_column(keys, TupleDescAttr(columns, i));
    else
      fits = is_of_kind(TupleDescAttr(columns, i)->atttypid, ColumnKind::id);
  }
  const Oid type = fits ? getBaseType(TupleDescAttr(columns, 2)->atttypid) : InvalidOid;
  if (type != TEXTOID && type != VARCHAROID)
    raise_columns(columns, function, "a query for verdicts must return two ids and a text",
                  "Name the columns, as in SELECT a, b, verdict FROM verdicts.");
}

Datum id_in_verdict(const QueryRow &row, int side, const char *function) {
  Datum id;
  if (!row.get(side, &id))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s: the verdicts have an id that is NULL", function),
                    errhint("Leave such verdicts out with WHERE ... IS NOT NULL.")));
  return id;
}

bool is_same(Datum verdict, const char *function) {
  const char *given = TextDatumGetCString(verdict);
  const bool same = std::strcmp(given, "same") == 0;
  if (!same && std::strcmp(given, "different") != 0)
    raise_argument(function, "verdict", quote_literal_cstr(given), "The verdicts are same and different.");
  return same;
}

MemoryCounter *create_verdict_memory(MemoryContext context) {
  const size_t limit = memory_limit_of(context);
  MemoryCounter *memory = own(context, [] { return std::make_unique<MemoryCounter>(); });
  memory->set_limit(pair_share_beside_keys(limit),
                    {"the verdicts need", "give fewer of them", " that the join leaves"});
  return memory;
}

void check_room(const MemoryCounter &memory, size_t verdicts) {
  call_cpp([&] { memory.check_room(verdicts * bytes_of_verdict); });
}

void note_unknown_rows(size_t verdicts, size_t all, const char *function) {
  if (verdicts > 0)
    ereport(NOTICE, (errmsg("%s: %zu of %zu verdicts name rows that the query does not return", function,
                            verdicts, all)));
}

GrowingArray<RowVerdict> read_verdicts(const char *query, const RowGrouping &grouping) {
  MemoryContext context = grouping.context;
  VerdictList list = {are_integers(grouping.keys) ? nullptr : keys_of_rows(grouping),
                      GrowingArray<int64>(context), GrowingArray<bool>(context)};
  VerdictReader reader = {grouping.function, &list, create_verdict_memory(context)};
  read_query(query, &reader, grouping.function);
  const uint32_t *sides =
      list.keys == nullptr ? rows_of_ids(list, grouping) : rows_of_keys(list, grouping.rows);
  GrowingArray<RowVerdict> verdicts(context);
  InterruptCounter interrupts;
  for (size_t i = 0; i < list.same.size(); ++i) {
    interrupts.add(10);
    const uint32_t a = sides[2 * i], b = sides[2 * i + 1];
    if (a != no_row && b != no_row) verdicts.append({a, b, list.same[i]});
  }
  close_row_keys(list.keys);
  note_unknown_rows(list.same.size() - verdicts.size(), list.same.size(), grouping.function);
  return verdicts;
}

void add_verdicts(const GrowingArray<RowVerdict> &verdicts, RowGrouping *grouping) {
  InterruptCounter interrupts;
  for (const RowVerdict &verdict : verdicts) {
    interrupts.add(100);
    call_cpp([&] { grouping->work->judged->add_verdict(verdict.a, verdict.b, verdict.same); });
  }
}

void report_verdicts(const RowGrouping &grouping) {
  const VerdictReport &report = grouping.work->judged->report();
  if (report.of_one_row > 0)
    ereport(WARNING,
            (errmsg("%s: " UINT64_FORMAT " verdicts different are left out, since a row is not different "
                    "from itself",
                    grouping.function, report.of_one_row),
             errhint("Remove the verdicts different whose two ids are equal.")));
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
