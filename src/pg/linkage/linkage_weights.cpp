// linkage_weights(): the weights of columns, fitted to the pairs of a query.
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
}

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/linkage/linkage_model.hpp"
#include "pg/base/arguments.hpp"
#include "pg/base/computation_memory.hpp"
#include "pg/base/errors.hpp"
#include "pg/base/named_arguments.hpp"
#include "pg/computation/background.hpp"
#include "pg/computation/watch.hpp"
#include "pg/linkage/comparison_values.hpp"
#include "pg/query/query_source.hpp"
#include "pg/query/result_rows.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *linkage_function = "linkage_weights";
constexpr int most_thresholds = most_levels - 1;
constexpr double least_weight = 0.01;  // of the highest level of a column that says something
// They tell apart similarities of sets, which are low, as well as those of names by Jaro and Winkler.
constexpr double usual_thresholds[] = {0.3, 0.5, 0.7, 0.88, 0.95, 1};

struct LinkageWork {
  explicit LinkageWork(size_t memory_limit) {
    memory.set_limit(memory_limit, {"the comparisons need", "compare fewer columns, or by fewer levels"});
    counts.emplace(memory);
  }

  MemoryCounter memory;
  std::optional<ComparisonCounts> counts;
  std::vector<size_t> levels;
  std::optional<LinkageModel> model;
};

// A column of the query. Its level is the number of thresholds that a value reaches.
struct Comparison {
  const char *name;
  ComparisonKind kind;
  int count;
  double thresholds[most_thresholds];  // ascending
  bool given;                          // the thresholds are those of the call
  bool seen;                           // a pair has a value
  double largest;                      // of the pairs' values

  uint8 level_of(double value) const {
    return static_cast<uint8>(std::upper_bound(thresholds, thresholds + count, value) - thresholds);
  }
};

// Errors: the levels of a column, or the whole argument where there is no `name`, are not valid.
[[noreturn]] void raise_levels(const char *name, const char *detail) {
  ereport(
      ERROR,
      (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
       errmsg("%s: the levels%s are not valid", linkage_function,
              name == nullptr ? "" : psprintf(" of \"%s\"", name)),
       errdetail("%s", detail),
       errhint("Give each column with similarities up to %d thresholds, as in '{\"name\": [0.7, 0.9, 1]}'.",
               most_thresholds)));
}

// Reads the thresholds of a column from an array of numbers.
void read_thresholds_of(const JsonbValue &array, Comparison *column) {
  if (array.type != jbvBinary || !JsonContainerIsArray(array.val.binary.data) ||
      JsonContainerIsScalar(array.val.binary.data))
    raise_levels(column->name, "They are no array.");
  const uint32 count = JsonContainerSize(array.val.binary.data);
  if (count < 1 || count > most_thresholds)
    raise_levels(column->name, psprintf("There are %u thresholds.", count));
  for (uint32 i = 0; i < count; ++i) {
    const JsonbValue *threshold = getIthJsonbValueFromContainer(array.val.binary.data, i);
    if (threshold->type != jbvNumeric) raise_levels(column->name, "A threshold is no number.");
    column->thresholds[i] = comparison_value(NumericGetDatum(threshold->val.numeric), NUMERICOID);
    if (!std::isfinite(column->thresholds[i])) raise_levels(column->name, "A threshold is too large.");
  }
  std::sort(column->thresholds, column->thresholds + count);
  column->count =
      static_cast<int>(std::unique(column->thresholds, column->thresholds + count) - column->thresholds);
}

// Gives a column its usual thresholds.
void set_usual_thresholds(Comparison *column) {
  switch (column->kind) {
    case ComparisonKind::equality:
      column->count = 1;
      column->thresholds[0] = 1;
      break;
    case ComparisonKind::level:
      column->count = most_thresholds;
      for (int i = 0; i < most_thresholds; ++i) column->thresholds[i] = i + 1;
      break;
    case ComparisonKind::similarity:
      column->count = static_cast<int>(std::size(usual_thresholds));
      std::copy(std::begin(usual_thresholds), std::end(usual_thresholds), column->thresholds);
  }
}

// Takes pairs, which have a value for each compared column.
struct ComparisonReader {
  void start(TupleDesc columns);
  void take(const QueryRow &row);
  void read_levels();

  LinkageWork *work;
  Jsonb *levels;  // thresholds by the names of columns, or nullptr
  int count;
  Comparison columns[most_compared_columns];
};

void ComparisonReader::start(TupleDesc given) {
  const int most = static_cast<int>(most_compared_columns);
  bool valid = given->natts > 0 && given->natts <= most;
  for (int i = 0; i < given->natts && valid; ++i)
    valid = is_comparison(getBaseType(TupleDescAttr(given, i)->atttypid));
  if (!valid)
    raise_columns(given, linkage_function,
                  psprintf("a query of comparisons must return up to %d columns: similarities (numbers), "
                           "levels of agreement (integers) or equalities (boolean)",
                           most),
                  "Compare the columns of both rows, as in SELECT jaro_winkler_similarity(a.name, b.name) AS "
                  "name, a.born = b.born AS born.");
  count = given->natts;
  for (int i = 0; i < count; ++i) {
    columns[i].name = pstrdup(NameStr(TupleDescAttr(given, i)->attname));
    columns[i].kind = comparison_kind(getBaseType(TupleDescAttr(given, i)->atttypid));
    set_usual_thresholds(&columns[i]);
  }
  if (levels != nullptr) read_levels();
  call_cpp([&] {
    for (int i = 0; i < count; ++i) work->levels.push_back(static_cast<size_t>(columns[i].count) + 1);
  });
}

// Reads the thresholds that the call gives.
void ComparisonReader::read_levels() {
  if (!JB_ROOT_IS_OBJECT(levels)) raise_levels(nullptr, "They are no object.");
  JsonbIterator *iterator = JsonbIteratorInit(&levels->root);
  JsonbValue key, value;
  JsonbIteratorNext(&iterator, &key, true);  // the beginning of the object
  while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY) {
    JsonbIteratorNext(&iterator, &value, true);
    const char *name = pnstrdup(key.val.string.val, static_cast<Size>(key.val.string.len));
    bool found = false;
    for (int i = 0; i < count; ++i) {
      if (strcmp(columns[i].name, name) != 0) continue;
      found = true;
      if (columns[i].kind == ComparisonKind::equality) raise_levels(name, "The column is of type boolean.");
      read_thresholds_of(value, &columns[i]);
      columns[i].given = true;
    }
    if (!found) raise_levels(name, "The query has no column of this name.");
  }
}

// Errors unless the value of a column is valid.
void check_comparison(const Comparison &column, double value) {
  if (!std::isfinite(value))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("%s: the similarity \"%s\" of a pair is %s", linkage_function, column.name,
                    psprintf("%g", value)),
             errhint("Similarities are finite. A missing value is NULL, as by NULLIF(similarity, 'NaN').")));
  if (column.kind == ComparisonKind::level && !(value >= 0 && value <= most_thresholds))
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
         errmsg("%s: the level \"%s\" of a pair is %.0f", linkage_function, column.name, value),
         errhint("An integer is a level of agreement from 0 to %d. Leave out ids. Instead of a distance give "
                 "a similarity, as 1 / (1.0 + distance).",
                 most_thresholds)));
}

void ComparisonReader::take(const QueryRow &row) {
  ComparisonVector vector;
  for (int i = 0; i < count; ++i) {
    Datum datum;
    uint8 level = null_level;
    if (row.get(i, &datum)) {
      const double value = comparison_value(datum, row.types[i]);
      check_comparison(columns[i], value);
      columns[i].largest = columns[i].seen ? std::max(columns[i].largest, value) : value;
      columns[i].seen = true;
      level = columns[i].level_of(value);
    }
    vector.set_level(static_cast<size_t>(i), level);
  }
  call_cpp([&] { work->counts->add(vector); });
}

// Shows the work, which belongs to the context, to other sessions. The context is its key.
void watch_linkage(const LinkageWork *work, MemoryContext context) {
  watch_computation(context, context, linkage_function, work, [](const void *of) {
    WatchFigures figures;
    figures.memory_peak = static_cast<const LinkageWork *>(of)->memory.peak();
    figures.device = "cpu";
    return figures;
  });
}

// Says which columns have thresholds that no pair reaches, as percentages of similarities from 0 to 1.
void report_unreached(const ComparisonReader &reader) {
  for (int i = 0; i < reader.count; ++i) {
    const Comparison &column = reader.columns[i];
    if (!column.given || !column.seen || column.largest >= column.thresholds[0]) continue;
    ereport(WARNING, (errmsg("%s: no pair reaches a threshold of \"%s\"", linkage_function, column.name),
                      errdetail("Its largest value is %g, its lowest threshold %g.", column.largest,
                                column.thresholds[0])));
  }
}

// Says what of the model is doubtful.
void report_doubts(const LinkageModel &model, const ComparisonReader &reader) {
  if (!model.converged)
    ereport(NOTICE,
            (errmsg("%s: the probabilities still change after %zu steps", linkage_function, model.steps),
             errhint("Compare by fewer levels, or leave out a column that others imply.")));
  for (int i = 0; i < reader.count; ++i) {
    const ComparedColumn &column = model.columns[static_cast<size_t>(i)];
    if (!column.informative() || column.highest_seen().weight() > least_weight) continue;
    ereport(NOTICE,
            (errmsg("%s: \"%s\" does not tell matches from other pairs", linkage_function,
                    reader.columns[i].name),
             errhint("Leave it out. If it should, make pairs by other conditions, or compare by other "
                     "levels.")));
  }
}

ResultValue optional_number(const std::optional<double> &number) {
  return number ? ResultValue(Float8GetDatum(*number)) : ResultValue(nullptr);
}

// A row of the result but its first columns.
struct WeightRow {
  const LinkageModel &model;
  const AgreementLevel &level;
  bool informative;
};

void return_level(const WeightRow &row, const Comparison &comparison, int place, int level,
                  ResultRows *result) {
  const bool seen = row.level.seen();
  const double matches = row.model.prior * row.level.m;
  const auto number = [seen](double value) {
    return seen ? ResultValue(Float8GetDatum(value)) : ResultValue(nullptr);
  };
  result->add(
      {Int32GetDatum(place), CStringGetTextDatum(comparison.name), Int32GetDatum(level),
       level == 0 ? ResultValue(nullptr) : ResultValue(Float8GetDatum(comparison.thresholds[level - 1])),
       Int64GetDatum(static_cast<int64>(row.level.pairs)), number(row.level.m), number(row.level.u),
       number(row.informative ? row.level.weight() : 0),
       number(matches / (matches + (1 - row.model.prior) * row.level.u)), optional_number(row.level.m_error),
       optional_number(row.level.u_error), optional_number(row.level.weight_error),
       Float8GetDatum(row.model.prior), optional_number(row.model.prior_error)});
}

void return_weights(const LinkageModel &model, const ComparisonReader &reader, ResultRows *result) {
  for (int i = 0; i < reader.count; ++i) {
    const ComparedColumn &column = model.columns[static_cast<size_t>(i)];
    const Comparison &comparison = reader.columns[i];
    const int highest = comparison.kind == ComparisonKind::level ? column.highest_level() : comparison.count;
    for (int level = 0; level <= highest; ++level)
      return_level({model, column.levels[static_cast<size_t>(level)], column.informative()}, comparison,
                   i + 1, level, result);
    if (column.null_pairs > 0)
      result->add({Int32GetDatum(i + 1), CStringGetTextDatum(comparison.name), nullptr, nullptr,
                   Int64GetDatum(static_cast<int64>(column.null_pairs)), nullptr, nullptr, Float8GetDatum(0),
                   Float8GetDatum(model.prior), nullptr, nullptr, nullptr, Float8GetDatum(model.prior),
                   optional_number(model.prior_error)});
  }
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_linkage_weights);
Datum simjoin_linkage_weights(PG_FUNCTION_ARGS) {
  ResultRows result(fcinfo);
  const NamedArguments arguments(fcinfo);
  arguments.refuse_null(linkage_function, {"levels"});
  MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "linkage", ALLOCSET_DEFAULT_SIZES);
  give_up_at_conflict(context);
  const size_t limit = memory_limit_of(context);
  auto *work = own(context, [limit] { return std::make_unique<LinkageWork>(limit); });
  watch_linkage(work, context);
  auto *reader = static_cast<ComparisonReader *>(palloc0(sizeof(ComparisonReader)));
  reader->work = work;
  reader->levels = arguments.is_null("levels") ? nullptr : arguments.jsonb("levels");
  read_watched_query(arguments.string("query"), reader, linkage_function, context);
  report_unreached(*reader);
  note_work(context);
  run_interruptibly(context, [work](WorkerPool &pool) {
    const Buffer<ComparisonVector> vectors = work->counts->sorted(pool.stop());
    work->model.emplace(fit_linkage(vectors, work->levels, pool.stop()));
  });
  note_end(context);
  report_doubts(*work->model, *reader);
  return_weights(*work->model, *reader, &result);
  MemoryContextDelete(context);
  return 0;
}
}

}  // namespace simjoin::pg
