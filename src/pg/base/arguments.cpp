#include "pg/base/arguments.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/float.h"
}

#include <algorithm>
#include <iterator>
#include <limits>

namespace simjoin::pg {

const char *string_argument(FunctionCallInfo fcinfo, int number) {
  return text_to_cstring(PG_GETARG_TEXT_PP(number));
}

void raise_argument(const char *function, const char *argument, const char *value, const char *hint) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: %s is %s", function, argument, value),
                  errhint("%s", hint)));
  pg_unreachable();
}

void raise_argument(const char *function, const char *argument, double value, const char *hint) {
  raise_argument(function, argument, float8out_internal(value), hint);
}

void check_count(int32 value, uint32 most, const char *function, const char *argument, const char *hint) {
  if (value >= 1 && static_cast<uint32>(value) <= most) return;
  raise_argument(function, argument, psprintf("%d", value), psprintf(hint, most));
}

void check_share(double value, const char *function, const char *argument) {
  if (value > 0 && value <= 1) return;
  raise_argument(function, argument, value, "It is a number above 0 and at most 1.");
}

double largest_similarity(Measure measure) {
  return measure == Measure::overlap ? static_cast<double>(std::numeric_limits<int32>::max()) : 1.0;
}

bool is_similarity(double value, Measure measure) {
  return value > 0 && value <= largest_similarity(measure);
}

void check_similarity(double value, Measure measure, const char *function, const char *argument,
                      bool zero_allowed) {
  check_similarity(value, RowMeasure{measure, false}, function, argument, zero_allowed);
}

void check_similarity(double value, const RowMeasure &of_rows, const char *function, const char *argument,
                      bool zero_allowed) {
  const Measure measure = of_rows.measure;
  if (measure == Measure::overlap && !zero_allowed && value > 0 && value < 1)
    ereport(WARNING, (errmsg("%s: %s is %s, which one shared token reaches", function, argument,
                             float8out_internal(value)),
                      errhint("The measure overlap is the number of shared tokens. For shares of them use "
                              "overlap_coefficient or jaccard.")));
  if (is_similarity(value, measure) || (zero_allowed && value == 0)) return;
  raise_argument(
      function, argument, value,
      psprintf("With the measure %s it is a number %s 0%s.", row_measure_name(of_rows),
               zero_allowed ? "of at least" : "above", measure == Measure::overlap ? "" : " and at most 1"));
}

size_t number_of_name(const char *name, std::span<const std::string_view> names, const char *function,
                      const char *what, const char *hint) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: unknown %s \"%s\"", function, what, name), errhint("%s", hint)));
  return static_cast<size_t>(found - names.begin());
}

namespace {

constexpr RowMeasure weighted_measures[] = {{Measure::jaccard, true},
                                            {Measure::cosine, true},
                                            {Measure::jaccard, true, true},
                                            {Measure::cosine, true, true}};

void refuse_containment(const char *name, const char *function) {
  if (name != measure_name(Measure::containment)) return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("%s: the measure %s depends on the order of two sets", function, name),
                  errhint("Use overlap_coefficient: it is the larger one of containment(l, r) and "
                          "containment(r, l).")));
}

// Returns the measure of this name among the first `count`, or one of those with weights.
RowMeasure row_measure(const char *name, size_t count, const char *function, const char *hint) {
  for (const RowMeasure weighted : weighted_measures)
    if (std::string_view(name) == row_measure_name(weighted)) return weighted;
  const auto names = std::span(measure_names).first(count);
  if (std::string_view(name).find('(') != std::string_view::npos)
    hint = psprintf("%s A tokenizer is no measure: write tokens => %s, or make sets in the query.", hint,
                    quote_literal_cstr(name));
  return {static_cast<Measure>(number_of_name(name, names, function, "measure", hint)), false};
}

}  // namespace

Measure symmetric_measure_by_name(const char *name, const char *function) {
  refuse_containment(name, function);
  return static_cast<Measure>(
      number_of_name(name, std::span(measure_names).first(symmetric_measures), function, "measure",
                     "The measures are jaccard, cosine, dice, overlap and overlap_coefficient."));
}

Measure index_measure_by_name(const char *name, const char *function) {
  return static_cast<Measure>(number_of_name(
      name, measure_names, function, "measure",
      "The measures are jaccard, cosine, dice, overlap, overlap_coefficient and containment."));
}

RowMeasure row_measure_by_name(const char *name, const char *function) {
  return row_measure(name, std::size(measure_names), function,
                     "The measures are jaccard, cosine, dice, overlap, overlap_coefficient, containment, "
                     "weighted_jaccard, weighted_cosine, idf_jaccard and idf_cosine.");
}

RowMeasure symmetric_row_measure_by_name(const char *name, const char *function) {
  refuse_containment(name, function);
  return row_measure(
      name, symmetric_measures, function,
      "The measures are jaccard, cosine, dice, overlap, overlap_coefficient, weighted_jaccard, "
      "weighted_cosine, idf_jaccard and idf_cosine.");
}

RowMeasure lasting_row_measure_by_name(const char *name, const char *function) {
  refuse_containment(name, function);
  const RowMeasure measure =
      row_measure(name, symmetric_measures, function,
                  "The measures are jaccard, cosine, dice, overlap, overlap_coefficient, "
                  "weighted_jaccard and weighted_cosine.");
  if (measure.by_rarity)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: by the measure %s, a new row changes how similar others are", function, name),
                    errhint("Keep weights in a column, as idf gives them, and use %s.",
                            row_measure_name({measure.measure, true}))));
  return measure;
}

const char *measure_function(Measure measure) {
  static constexpr const char *functions[] = {"jaccard_similarity", "cosine_similarity",   "dice_similarity",
                                              "overlap_count",      "overlap_coefficient", "containment",
                                              "containment"};
  static_assert(std::size(functions) == static_cast<size_t>(Measure::reverse_containment) + 1);
  return functions[static_cast<int>(measure)];
}

const char *weighted_function(Measure measure) {
  return measure == Measure::cosine ? "weighted_cosine_similarity" : "weighted_jaccard_similarity";
}

const char *row_measure_name(RowMeasure measure) {
  if (!measure.weighted) return measure_name(measure.measure).data();
  if (measure.by_rarity) return measure.measure == Measure::cosine ? "idf_cosine" : "idf_jaccard";
  return measure.measure == Measure::cosine ? "weighted_cosine" : "weighted_jaccard";
}

}  // namespace simjoin::pg
