#include "pg/join_estimate.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
}

#include <cmath>

#include "pg/settings.hpp"

namespace simjoin::pg {
namespace {

// Sets without statistics: the size of a short text's word set, tokens that two of them rarely share.
constexpr double usual_size = 30;
constexpr double usual_collision = 1.0;
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

// Sums the squared frequencies of the most common elements; the last three numbers are not frequencies of
// elements.
void read_collision(HeapTuple tuple, SetStatistics *statistics) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCELEM, InvalidOid, ATTSTATSSLOT_NUMBERS)) return;
  double sum = 0;
  for (int i = 0; i < slot.nnumbers - 3; ++i) sum += static_cast<double>(slot.numbers[i]) * slot.numbers[i];
  statistics->token_collision = sum;
  free_attstatsslot(&slot);
}

// Returns the probability that a Poisson variable with this mean is at least k, within a small factor.
double poisson_tail(double mean, double k) {
  if (k <= mean) return 1.0;
  if (mean <= 0) return 0.0;
  const double at_k = std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
  return Min(1.0, at_k / (1.0 - mean / (k + 1)));
}

// Returns the probability that two sets of these sizes, with tokens drawn independently, are similar.
double chance_similarity(const SetStatistics &left, const SetStatistics &right, double left_size,
                         double right_size, const Bounds &bounds) {
  const auto r = static_cast<int64_t>(left_size), s = static_cast<int64_t>(right_size);
  if (r < 1 || s < 1) return 0.0;
  const int64_t needed = bounds.min_overlap(r, s);
  if (needed > Min(r, s)) return 0.0;
  const double mean = left_size / left.average_size * (right_size / right.average_size) *
                      std::sqrt(left.token_collision * right.token_collision);
  return poisson_tail(Min(mean, static_cast<double>(Min(r, s))), static_cast<double>(needed));
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
  statistics.token_collision = usual_collision;
  assume_sizes_around(&statistics, usual_size);
  VariableStatData variable;
  examine_variable(root, reinterpret_cast<Node *>(set), 0, &variable);
  if (HeapTupleIsValid(variable.statsTuple)) {
    auto *form = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(variable.statsTuple));
    assume_sizes_around(&statistics, (form->stawidth - array_header_bytes) / token_bytes(type));
    statistics.rows *= 1.0 - form->stanullfrac;
    read_sizes(variable.statsTuple, &statistics);
    read_collision(variable.statsTuple, &statistics);
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
  return left.rows * right.rows * chance +
         Max(left.rows, right.rows) * share_above(planned_measure, bounds.threshold(), usual);
}

}  // namespace simjoin::pg
