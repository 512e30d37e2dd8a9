#include "pg/join_estimate.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
}

#include <algorithm>
#include <cmath>
#include <functional>

#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

// Sets without statistics: the size of a short text's word set.
constexpr double usual_size = 30;
constexpr double usual_threshold = 0.7;

// The share of rows that have a near-duplicate somewhere, at a threshold that all of them reach. No
// statistics tell it; collections on which set-similarity joins are published have 0.05 to 0.25.
constexpr double near_duplicate_share = 0.1;

constexpr double array_header_bytes = 24;

double token_bytes(TokenType type) {
  switch (type) {
    case TokenType::int4:
      return 4;
    case TokenType::int8:
      return 8;
    case TokenType::text:
      break;
  }
  return 12;
}

void assume_sizes_around(SetStatistics *statistics, double average) {
  statistics->average_size = Max(average, 1.0);
  for (int i = 0; i < SetStatistics::size_quantiles; ++i)
    statistics->sizes[i] =
        Max(1.0, statistics->average_size * (0.5 + i / (SetStatistics::size_quantiles - 1.0)));
}

// Takes the quantiles of the distinct-element-count histogram, whose last number is the average.
void read_sizes(HeapTuple tuple, SetStatistics *statistics) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS)) return;
  const int bounds = slot.nnumbers - 1;
  if (bounds >= 2) {
    statistics->average_size = Max(static_cast<double>(slot.numbers[bounds]), 1.0);
    for (int i = 0; i < SetStatistics::size_quantiles; ++i)
      statistics->sizes[i] = slot.numbers[i * (bounds - 1) / (SetStatistics::size_quantiles - 1)];
  }
  free_attstatsslot(&slot);
}

// Takes the most frequent tokens from the most common elements, whose last three numbers are something else.
void read_tokens(HeapTuple tuple, SetStatistics *statistics) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCELEM, InvalidOid, ATTSTATSSLOT_NUMBERS)) return;
  const int elements = Max(slot.nnumbers - 3, 0);
  statistics->token_count = Min(elements, SetStatistics::most_tokens);
  std::partial_sort(slot.numbers, slot.numbers + statistics->token_count, slot.numbers + elements,
                    std::greater<>());
  statistics->rest = 0;
  for (int i = 0; i < elements; ++i) {
    const double frequency = slot.numbers[i];
    if (i < statistics->token_count) {
      statistics->frequency[i] = Min(frequency, 0.999);
    } else {
      statistics->rest += frequency * frequency;
    }
  }
  free_attstatsslot(&slot);
}

// Computes the share of equal pairs as PostgreSQL does for `=`: the most common values, the others spread
// evenly.
void read_equal_share(HeapTuple tuple, SetStatistics *statistics) {
  const double distinct = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple))->stadistinct;
  const double values = distinct < 0 ? -distinct * statistics->rows : distinct;
  double common = 0;
  int common_values = 0;
  AttStatsSlot slot;
  if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
    common_values = slot.nnumbers;
    for (int i = 0; i < slot.nnumbers; ++i) {
      common += slot.numbers[i];
      statistics->equal_share += static_cast<double>(slot.numbers[i]) * slot.numbers[i];
    }
    free_attstatsslot(&slot);
  }
  const double others = Max(1.0 - common, 0.0);
  // Each row equals itself; that is no pair.
  const double surplus = others / Max(values - common_values, 1.0) - 1.0 / Max(statistics->rows, 1.0);
  statistics->equal_share += others * Max(surplus, 0.0);
}

// The number of tokens that two sets of given sizes share, with tokens drawn independently: a sum of one
// trial for each frequent token, and of a Poisson variable for all others.
struct SharedTokens {
  int trials;
  double probability[SetStatistics::most_tokens];
  double rest;

  SharedTokens(const SetStatistics &left, const SetStatistics &right, double r, double s) {
    trials = Min(left.token_count, right.token_count);
    const double x = r / left.average_size, y = s / right.average_size;
    for (int i = 0; i < trials; ++i)
      probability[i] = (1 - std::pow(1 - left.frequency[i], x)) * (1 - std::pow(1 - right.frequency[i], y));
    rest = x * y * std::sqrt(left.rest * right.rest);
  }

  // The cumulant generating function at log(z), and its first two derivatives there.
  void cumulants(double z, double *k, double *k1, double *k2) const {
    *k = rest * (z - 1);
    *k1 = *k2 = rest * z;
    for (int i = 0; i < trials; ++i) {
      const double tilted = probability[i] * z / (1 + probability[i] * (z - 1));
      *k += std::log1p(probability[i] * (z - 1));
      *k1 += tilted;
      *k2 += tilted * (1 - tilted);
    }
  }

  // Returns the probability of at least `needed` shared tokens, by the saddle point approximation (Daniels
  // 1987).
  double at_least(double needed) const {
    double k, k1, k2;
    cumulants(1.0, &k, &k1, &k2);
    if (needed <= k1 + 0.5) return 1.0;
    double low = 1.0, high = 2.0;
    constexpr double highest = 1e12;
    for (; high < highest; high *= high) {
      cumulants(high, &k, &k1, &k2);
      if (k1 >= needed) break;
      low = high;
    }
    if (high >= highest) return 0.0;
    for (int step = 0; step < 12; ++step) {
      const double middle = std::sqrt(low * high);
      cumulants(middle, &k, &k1, &k2);
      (k1 < needed ? low : high) = middle;
    }
    const double z = std::sqrt(low * high);
    cumulants(z, &k, &k1, &k2);
    const double tail =
        std::exp(k - needed * std::log(z)) / ((1 - 1 / z) * std::sqrt(2 * M_PI * Max(k2, 1e-3)));
    return Min(tail, 1.0);
  }
};

// Returns the probability that two different sets of these sizes are similar by chance.
double chance_similarity(const SetStatistics &left, const SetStatistics &right, double left_size,
                         double right_size, const Bounds &bounds) {
  const auto r = static_cast<int64_t>(left_size), s = static_cast<int64_t>(right_size);
  if (r < 1 || s < 1) return 0.0;
  const int64_t needed = bounds.min_overlap(r, s);
  if (needed > Min(r, s) || (needed == r && needed == s)) return 0.0;
  return SharedTokens(left, right, left_size, right_size).at_least(static_cast<double>(needed));
}

// Returns the share of near-duplicates that reach the threshold; `size` is the usual size of a set.
double share_above(Measure measure, double threshold, double size) {
  const double relative = measure == Measure::overlap ? threshold / size : threshold;
  return near_duplicate_share * Max(0.1, Min(1.0, 2.0 * (1.0 - relative)));
}

}  // namespace

SetStatistics set_statistics(PlannerInfo *root, RelOptInfo *rel, Expr *set, TokenType type) {
  SetStatistics statistics = {};
  statistics.rows = rel->rows;
  assume_sizes_around(&statistics, usual_size);
  VariableStatData variable;
  examine_variable(root, reinterpret_cast<Node *>(set), 0, &variable);
  if (HeapTupleIsValid(variable.statsTuple)) {
    auto *form = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(variable.statsTuple));
    assume_sizes_around(&statistics, (form->stawidth - array_header_bytes) / token_bytes(type));
    statistics.rows *= 1.0 - form->stanullfrac;
    read_sizes(variable.statsTuple, &statistics);
    read_tokens(variable.statsTuple, &statistics);
    read_equal_share(variable.statsTuple, &statistics);
  }
  ReleaseVariableStats(variable);
  return statistics;
}

double planned_threshold(const SimilarityClause &clause) {
  if (clause.from_settings) return similarity_threshold;
  const double constant = constant_threshold(clause);
  if (constant > 0) return constant;
  return clause.measure == Measure::overlap ? usual_threshold * usual_size : usual_threshold;
}

double estimate_pairs(const SetStatistics &left, const SetStatistics &right, const SimilarityClause &clause) {
  const Measure planned_measure = clause.from_settings ? static_cast<Measure>(measure) : clause.measure;
  const Bounds bounds(planned_measure, planned_threshold(clause));
  double chance = 0;
  for (double left_size : left.sizes)
    for (double right_size : right.sizes)
      chance += chance_similarity(left, right, left_size, right_size, bounds);
  chance /= SetStatistics::size_quantiles * SetStatistics::size_quantiles;
  const double usual = Min(left.average_size, right.average_size);
  const double equal = std::sqrt(left.equal_share * right.equal_share);
  return left.rows * right.rows * (chance + equal) +
         Max(left.rows, right.rows) * share_above(planned_measure, bounds.threshold(), usual);
}

}  // namespace simjoin::pg
