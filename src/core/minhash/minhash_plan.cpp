#include "core/minhash/minhash_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace simjoin {
namespace {

constexpr size_t points = 512;  // per integral, by the midpoint rule; errors are below 1e-5

// Up to this number of rows, every number is tried. Beyond it, each doubling of the number has about as many
// steps.
constexpr uint32_t exact_rows = 256;

// The two integrals of one number of rows, for any number of bands.
class Areas {
 public:
  // `rows` as a power of the similarities at the midpoints of [0, threshold] and [threshold, 1].
  Areas(double threshold, uint32_t rows)
      : below_step_(threshold / points), above_step_((1 - threshold) / points) {
    for (size_t i = 0; i < points; ++i) {
      const double middle = static_cast<double>(i) + 0.5;
      below_[i] = log_miss(middle * below_step_, rows);
      above_[i] = log_miss(threshold + middle * above_step_, rows);
    }
  }

  double false_positives(uint32_t bands) const {
    double sum = 0;
    for (const double miss : below_) sum -= std::expm1(bands * miss);
    return sum * below_step_;
  }
  double false_negatives(uint32_t bands) const {
    double sum = 0;
    for (const double miss : above_) sum += std::exp(bands * miss);
    return sum * above_step_;
  }
  double errors(uint32_t bands) const { return false_positives(bands) + false_negatives(bands); }

 private:
  // Returns the logarithm of the probability that one band differs.
  static double log_miss(double similarity, uint32_t rows) { return std::log1p(-std::pow(similarity, rows)); }

  const double below_step_, above_step_;
  std::array<double, points> below_, above_;
};

// Returns the number of bands from 1 to `most` with the fewest errors. The sum of errors falls until there
// and rises afterwards. Each further band adds false positives, which shrink more slowly than the false
// negatives that it removes.
uint32_t best_bands(const Areas &areas, uint32_t most) {
  uint32_t low = 1, high = most;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (areas.errors(middle + 1) < areas.errors(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

double candidate_probability(const BandPlan &plan, double similarity) {
  return -std::expm1(plan.bands * std::log1p(-std::pow(similarity, plan.rows)));
}

double false_positive_rate(const BandPlan &plan, double threshold) {
  return Areas(threshold, plan.rows).false_positives(plan.bands) / threshold;
}

BandPlan best_band_plan(double threshold, uint32_t permutations) {
  BandPlan best{1, 1};
  double least = INFINITY;
  for (uint32_t rows = 1; rows <= permutations; rows += 1 + rows / exact_rows) {
    const Areas areas(threshold, rows);
    const uint32_t most = permutations / rows;
    // More rows leave fewer bands, so false negatives can only increase.
    if (areas.false_negatives(most) > least) break;
    const uint32_t bands = best_bands(areas, most);
    if (const double errors = areas.errors(bands); errors < least) {
      least = errors;
      best = {bands, rows};
    }
  }
  return best;
}

}  // namespace simjoin
