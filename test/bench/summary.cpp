#include "bench/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace simjoin::bench {

namespace {

// `auto` must stay within this share of the best single strategy. Differences of a few milliseconds are
// noise.
constexpr double acceptable_loss = 0.2;
constexpr double noise_ms = 5;

std::string name_of(const Cell &cell) {
  char text[100];
  std::snprintf(text, sizeof text, "%s %g, %s >= %g, %d threads", cell.shape.c_str(), cell.scale,
                measure_names[static_cast<size_t>(cell.measure)].data(), cell.threshold, cell.stats.threads);
  return text;
}

// The geometric mean and the smallest of ratios.
struct Ratios {
  double logarithms = 0;
  double least = 0;
  size_t count = 0;

  void add(double ratio) {
    if (ratio <= 0) return;
    logarithms += std::log(ratio);
    least = count == 0 ? ratio : std::min(least, ratio);
    ++count;
  }
  void print(const char *than) const {
    if (count == 0) return;
    std::printf("auto against %s: %.2f times faster in the geometric mean of %zu cells, least %.2f\n", than,
                std::exp(logarithms / static_cast<double>(count)), count, least);
  }
};

}  // namespace

Summary::Row &Summary::row_of(const Cell &cell) {
  const std::string name = name_of(cell);
  if (rows_.empty() || rows_.back().name != name) {
    rows_.emplace_back();
    rows_.back().name = name;
  }
  return rows_.back();
}

void Summary::add_cell(const Cell &cell, const Comparison &comparison) {
  if (cell.outcome != Outcome::done) return;
  Row &row = row_of(cell);
  if (cell.algorithm == Algorithm::automatic) {
    row.auto_ms = cell.total_ms;
    if (comparison.published != nullptr) row.published = ratio(cell, *comparison.published);
    if (comparison.own != nullptr) row.own = ratio(cell, *comparison.own);
  } else if (row.best_ms == 0 || cell.total_ms < row.best_ms) {
    row.best_ms = cell.total_ms;
    row.best = algorithm_names[static_cast<size_t>(cell.algorithm)];
  }
}

void Summary::print() const {
  Ratios published, own;
  size_t compared = 0, lost = 0;
  std::printf("\n");
  for (const Row &row : rows_) {
    published.add(row.published);
    own.add(row.own);
    if (row.auto_ms == 0 || row.best_ms == 0) continue;
    ++compared;
    if (row.auto_ms <= (1 + acceptable_loss) * row.best_ms + noise_ms) continue;
    ++lost;
    std::printf("auto took %.2f times as long as %s: %s\n", row.auto_ms / row.best_ms, row.best.c_str(),
                row.name.c_str());
  }
  if (compared > 0) {
    std::printf("auto was within %.0f %% of the best single strategy in %zu of %zu cells\n",
                100 * acceptable_loss, compared - lost, compared);
  }
  published.print("published programs");
  own.print("its own earlier figures");
}

}  // namespace simjoin::bench
