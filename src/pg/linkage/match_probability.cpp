// match_probability(): how probable it is that a pair is a match, by the weights of linkage_weights().
#include "pg/base/pg.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
}

#include <algorithm>
#include <cmath>

#include "core/linkage/comparisons.hpp"
#include "pg/linkage/comparison_values.hpp"

namespace simjoin::pg {
namespace {

constexpr const char *probability_function = "match_probability";
constexpr int most_scored = static_cast<int>(most_compared_columns);

struct ScoredLevel {
  double at_least;
  double weight;
};

// The levels of a column that have a weight, ascending.
struct ScoredColumn {
  int count;
  ScoredLevel levels[most_levels];

  // Returns the weight of the highest level that the value reaches, or else of the lowest one.
  double weight_of(double value) const {
    if (count == 0) return 0;
    int level = count - 1;
    while (level > 0 && levels[level].at_least > value) --level;
    return levels[level].weight;
  }
};

// Weights as they were given, and what they say. Kept from call to call.
struct Scoring {
  Jsonb *weights;
  Oid types[most_scored];  // of the similarities in the call
  double prior_weight;     // log2 of the odds
  int columns;
  ScoredColumn column[most_scored];
};

[[noreturn]] void raise_weights(const char *detail) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("%s: the weights are not those of linkage_weights", probability_function),
                  errdetail("%s", detail),
                  errhint("Give all rows of the result, as in (SELECT jsonb_agg(w) FROM weights w), where "
                          "weights is CREATE TABLE weights AS SELECT * FROM linkage_weights(...).")));
}

// Gives the number that a row has under a key; returns false where it is null.
bool get_number(JsonbContainer *row, const char *key, double *number) {
  JsonbValue name;
  name.type = jbvString;
  name.val.string.val = const_cast<char *>(key);
  name.val.string.len = static_cast<int>(strlen(key));
  const JsonbValue *value = findJsonbValueFromContainer(row, JB_FOBJECT, &name);
  if (value == nullptr) raise_weights(psprintf("A row has no \"%s\".", key));
  if (value->type == jbvNull) return false;
  *number =
      value->type == jbvNumeric ? comparison_value(NumericGetDatum(value->val.numeric), NUMERICOID) : NAN;
  if (!std::isfinite(*number)) raise_weights(psprintf("The \"%s\" of a row is no number.", key));
  return true;
}

void add_level(ScoredColumn *column, const ScoredLevel &level) {
  if (column->count == most_levels) raise_weights(psprintf("A column has more than %d levels.", most_levels));
  int place = column->count++;
  for (; place > 0 && column->levels[place - 1].at_least > level.at_least; --place)
    column->levels[place] = column->levels[place - 1];
  column->levels[place] = level;
}

void read_row(JsonbContainer *row, Scoring *scoring) {
  double place, level, prior, weight = 0, at_least = -INFINITY;
  if (!get_number(row, "place", &place) || place != std::floor(place) || place < 1 || place > most_scored)
    raise_weights(psprintf("The \"place\" of a row is no number from 1 to %d.", most_scored));
  if (!get_number(row, "prior", &prior) || !(prior > 0 && prior < 1))
    raise_weights("The \"prior\" of a row is no number between 0 and 1.");
  scoring->prior_weight = std::log2(prior / (1 - prior));
  scoring->columns = std::max(scoring->columns, static_cast<int>(place));
  if (!get_number(row, "level", &level) || !get_number(row, "weight", &weight)) return;
  get_number(row, "at_least", &at_least);
  add_level(&scoring->column[static_cast<int>(place) - 1], {at_least, weight});
}

void read_weights(Jsonb *weights, Scoring *scoring) {
  if (!JB_ROOT_IS_ARRAY(weights) || JB_ROOT_IS_SCALAR(weights) || JB_ROOT_COUNT(weights) == 0)
    raise_weights("They are no array of rows.");
  JsonbIterator *iterator = JsonbIteratorInit(&weights->root);
  JsonbValue row;
  JsonbIteratorNext(&iterator, &row, true);  // the beginning of the array
  while (JsonbIteratorNext(&iterator, &row, true) == WJB_ELEM) {
    if (row.type != jbvBinary || !JsonContainerIsObject(row.val.binary.data))
      raise_weights("A row is no object.");
    read_row(row.val.binary.data, scoring);
  }
}

// Returns what the weights say, for a call with these arguments.
Scoring *make_scoring(FunctionCallInfo fcinfo, Jsonb *weights) {
  if (get_fn_expr_variadic(fcinfo->flinfo))
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("%s: similarities are given one by one, and not as VARIADIC", probability_function),
             errhint("Write match_probability(weights, s[1], s[2], s[3]).")));
  auto *scoring = static_cast<Scoring *>(palloc0(sizeof(Scoring)));
  read_weights(weights, scoring);
  if (scoring->columns != PG_NARGS() - 1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: the weights are of %d columns, and the call has %d similarities",
                           probability_function, scoring->columns, PG_NARGS() - 1),
                    errhint("Give the same comparisons as to linkage_weights, in the same order.")));
  for (int i = 0; i < scoring->columns; ++i)
    scoring->types[i] = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, i + 1));
  scoring->weights = static_cast<Jsonb *>(palloc(VARSIZE(weights)));
  memcpy(scoring->weights, weights, VARSIZE(weights));
  return scoring;
}

// Returns the scoring that the call keeps, for these weights.
const Scoring *scoring_of(FunctionCallInfo fcinfo, Jsonb *weights) {
  auto *kept = static_cast<Scoring *>(fcinfo->flinfo->fn_extra);
  if (kept != nullptr && VARSIZE(kept->weights) == VARSIZE(weights) &&
      memcmp(kept->weights, weights, VARSIZE(weights)) == 0)
    return kept;
  fcinfo->flinfo->fn_extra = nullptr;
  if (kept != nullptr) {
    pfree(kept->weights);
    pfree(kept);
  }
  MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
  fcinfo->flinfo->fn_extra = make_scoring(fcinfo, weights);
  MemoryContextSwitchTo(old);
  return static_cast<Scoring *>(fcinfo->flinfo->fn_extra);
}

// Returns the weight of an argument of the call.
double weight_of_argument(const Scoring &scoring, int column, Datum argument) {
  const Oid type = scoring.types[column];
  if (!is_comparison(type))
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("%s: argument %d is of type %s", probability_function, column + 2, format_type_be(type)),
             errhint("Compare two values by a similarity (a number), a level of agreement (an integer) "
                     "or an equality (boolean).")));
  const double value = comparison_value(argument, type);
  if (std::isnan(value))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s: argument %d is NaN", probability_function, column + 2),
                    errhint("A missing value is NULL, as by NULLIF(similarity, 'NaN').")));
  return scoring.column[column].weight_of(value);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(simjoin_match_probability);
Datum simjoin_match_probability(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(0)) raise_weights("They are NULL.");
  const Scoring *scoring = scoring_of(fcinfo, PG_GETARG_JSONB_P(0));
  double weight = scoring->prior_weight;
  for (int i = 0; i < scoring->columns; ++i)
    if (!PG_ARGISNULL(i + 1)) weight += weight_of_argument(*scoring, i, PG_GETARG_DATUM(i + 1));
  PG_RETURN_FLOAT8(1 / (1 + std::exp2(-weight)));
}
}

}  // namespace simjoin::pg
