#include "gpu/bench_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace simjoin::bench {
namespace {

Cell cell_of(const GpuRun &run) {
  Cell cell;
  const size_t dash = run.file.rfind('-');
  cell.shape = run.file.substr(0, dash);
  cell.scale = dash == std::string::npos ? 1 : std::atof(run.file.c_str() + dash + 1);
  cell.threshold = run.threshold;
  cell.outcome = Outcome::done;
  cell.pairs = run.pairs;
  cell.scan_ms = run.scan_ms;
  cell.total_ms = run.seconds * 1000;
  cell.stats = run.stats;
  return cell;
}

}  // namespace

GpuReport::GpuReport(const std::string &csv, const std::vector<std::string> &baselines) {
  if (!csv.empty()) csv_.emplace(csv);
  for (const std::string &file : baselines) baselines_.push_back(Baseline::read(file));
}

std::optional<double> GpuReport::add(const GpuRun &run, bool &wrong) {
  const Cell cell = cell_of(run);
  // The engine's time includes the rest of the upload, ranks and order, which published programs leave out.
  std::optional<BaselineTime> best;
  wrong = false;
  for (const Baseline &baseline : baselines_) {
    const BaselineTime *found = baseline.find(cell);
    if (found != nullptr && (!best || found->seconds < best->seconds)) best = *found;
    const std::optional<uint64_t> pairs = baseline.pairs(cell);
    wrong |= pairs && *pairs != run.pairs;
  }
  wrong_ += wrong;
  if (best) best->index_and_join = false;
  if (csv_) {
    csv_->add_cell(cell, run.sets, run.tokens, {best ? &*best : nullptr, nullptr});
  }
  if (!best) return std::nullopt;
  ratios_.push_back(ratio(cell, *best));
  return ratios_.back();
}

void GpuReport::print_summary() const {
  if (!ratios_.empty()) {
    double logarithms = 0;
    for (double value : ratios_) logarithms += std::log(value);
    std::printf("times faster than the best published program: geometric mean %.1f, smallest %.1f of %zu\n",
                std::exp(logarithms / static_cast<double>(ratios_.size())),
                *std::min_element(ratios_.begin(), ratios_.end()), ratios_.size());
  }
  if (wrong_ > 0) std::printf("%d results are WRONG\n", wrong_);
}

}  // namespace simjoin::bench
