#include "core/lsh/lsh_plan.hpp"

#include <algorithm>
#include <cmath>

namespace simjoin {
namespace {

// Returns the least number of bands that reaches the recall. The result is above `most` if more bands are
// needed.
uint32_t least_bands(double jaccard, uint32_t rows, double recall, uint32_t most) {
  const double match = std::pow(jaccard, rows);
  if (match >= 1) return 1;
  const double wanted = std::log1p(-recall) / std::log1p(-match);
  if (!(wanted <= most)) return most + 1;
  auto bands = std::max(static_cast<uint32_t>(wanted), 1u);
  while (bands <= most && candidate_probability({bands, rows}, jaccard) < recall) ++bands;
  return bands;
}

}  // namespace

double least_jaccard(Measure measure, double threshold) {
  switch (measure) {
    case Measure::jaccard:
      return threshold;
    case Measure::dice:
      return threshold / (2 - threshold);
    case Measure::cosine:
      return threshold * threshold;  // of a set and its subset
    case Measure::overlap:
    case Measure::overlap_coefficient:
    case Measure::containment:
    case Measure::reverse_containment:
      break;  // a small set within a large one
  }
  return 0;
}

// With a given recall, more rows need more bands and leave fewer candidates at every lower similarity s,
// about (s / jaccard)^rows. So the plan of the most rows that fits is the best.
BandPlan plan_for_recall(double jaccard, double recall, uint32_t permutations) {
  const auto fits = [&](uint32_t rows) {
    return uint64_t{least_bands(jaccard, rows, recall, permutations)} * rows <= permutations;
  };
  if (!fits(1)) return {permutations, 1};
  uint32_t low = 1, high = permutations;
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return {least_bands(jaccard, low, recall, permutations), low};
}

}  // namespace simjoin
