#include "gpu/bench_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>

namespace simjoin::bench {
namespace {

// Fewer pairs are compared within the time of a few launches.
constexpr double least_pairs_of_a_rate = 1e10;

std::string shape_of(const Joined &joined) {
  return joined.file.substr(0, joined.file.rfind('-'));
}

double scale_of(const Joined &joined) {
  const size_t dash = joined.file.rfind('-');
  return dash == std::string::npos ? 1 : std::atof(joined.file.c_str() + dash + 1);
}

// Returns the join's cell in the baselines.
Cell cell_of(const Joined &joined) {
  Cell cell;
  cell.shape = shape_of(joined);
  cell.scale = scale_of(joined);
  cell.threshold = joined.threshold;
  return cell;
}

double geometric_mean(const std::vector<double> &values) {
  double logarithms = 0;
  for (double value : values) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(values.size()));
}

}  // namespace

GpuReport::GpuReport(const std::string &csv, const std::vector<std::string> &baselines) {
  for (const std::string &file : baselines) baselines_.push_back(Baseline::read(file));
  if (csv.empty()) return;
  csv_ = std::fopen(csv.c_str(), "w");
  if (csv_ == nullptr) throw std::runtime_error("cannot write " + csv);
  std::fprintf(csv_,
               "shape,scale,sets,tokens,threshold,device,strategy,kernel,threads,gpus,gpu_memory_mb,status,"
               "pairs,total_ms,upload_engine_ms,engine_ms,upload_left_ms,build_ms,index_ms,filter_ms,"
               "verify_ms,download_ms,compared,entries,candidates,tile_pairs,device_bytes,published_s,"
               "algorithm\n");
}

GpuReport::~GpuReport() {
  if (csv_ != nullptr) std::fclose(csv_);
}

void GpuReport::print_heading() const {
  std::printf(
      "collection        thr      pairs    total up+engine engine | upload  build index  filter  verify   "
      "down |  compared    T/s   entries candidates tiles again GB algorithm (ms)\n");
}

void GpuReport::add(const Joined &joined, const Way &way, const std::string &label, const Run &run) {
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%-17s %.2f ", label.c_str(), joined.threshold);
  std::optional<double> published;
  bool wrong = false;
  if (joined.whole) {
    const Cell cell = cell_of(joined);
    for (const Baseline &baseline : baselines_) {
      const BaselineTime *found = baseline.find(cell);
      if (found != nullptr && (!published || found->seconds < *published)) published = found->seconds;
      const std::optional<uint64_t> pairs = baseline.pairs(cell);
      wrong |= pairs && run.error.empty() && *pairs != run.pairs;
    }
  }
  if (run.error.empty()) {
    const auto key = std::tuple(joined.file, joined.sets, joined.threshold);
    wrong |= pairs_.try_emplace(key, run.pairs).first->second != run.pairs;
  }
  write_line(joined, way, run, published.value_or(0));
  wrong_ += wrong;
  failed_ += !run.error.empty() && !run.stopped;
  if (wrong) std::printf("WRONG number of pairs: ");
  if (!run.error.empty()) {
    std::printf("%s\n", run.error.c_str());
    std::fflush(stdout);
    return;
  }
  if (!way.gpu) {
    std::printf("%10llu %8.1f %8s %7.1f | %s\n", number(run.pairs), run.total_ms, "", run.engine_ms,
                run.stats.algorithm.c_str());
    std::fflush(stdout);
    return;
  }
  const GpuFigures &f = run.figures;
  const double rate = f.filter_pairs < least_pairs_of_a_rate ? 0 : f.filter_pairs / f.filter_ms / 1e9;
  std::printf(
      "%10llu %8.1f %8.1f %7.1f | %6.1f %6.1f %5.1f %7.2f %7.2f %6.2f | %9.3g %6.2f %9.3g %10llu %5llu %llu "
      "%.2f %s\n",
      number(run.pairs), run.total_ms, run.upload_ms, run.engine_ms, f.upload_ms, f.build_ms, f.index_ms,
      f.filter_ms, f.verify_ms, f.download_ms, f.filter_pairs, rate, f.list_entries, number(f.candidates),
      number(f.tile_pairs), number(f.launches_repeated), static_cast<double>(f.device_memory_peak) / 1e9,
      run.stats.algorithm.c_str());
  if (published && way.strategy == "auto") {
    ratios_.push_back(1000 * *published / run.upload_ms);
    std::printf("  %.1f times faster than the best published program\n", ratios_.back());
  }
  std::fflush(stdout);
  if (way.strategy == "auto") {
    automatic_ms_ = run.upload_ms;
  } else if (single_ms_ == 0 || run.upload_ms < single_ms_) {
    single_ms_ = run.upload_ms;
    single_ = way.strategy;
  }
}

void GpuReport::write_line(const Joined &joined, const Way &way, const Run &run, double published_s) {
  if (csv_ == nullptr) return;
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  const GpuFigures &f = run.figures;
  std::fprintf(csv_, "%s,%g,%zu,%zu,%g,%s,%s,%s,%d,%d,%zu,%s,%llu,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,",
               shape_of(joined).c_str(), scale_of(joined), joined.sets, joined.tokens, joined.threshold,
               way.gpu ? "gpu" : "cpu", way.strategy.c_str(), way.kernel.c_str(), run.stats.threads,
               way.options.workers, way.options.memory_limit >> 20,
               run.error.empty() ? "done"
               : run.stopped     ? "stopped"
                                 : "failed",
               number(run.pairs), run.total_ms, run.upload_ms, run.engine_ms, f.upload_ms, f.build_ms,
               f.index_ms, f.filter_ms, f.verify_ms);
  std::fprintf(csv_, "%.3f,%.4g,%.4g,%llu,%llu,%zu,", f.download_ms, f.filter_pairs, f.list_entries,
               number(f.candidates), number(f.tile_pairs), f.device_memory_peak);
  if (published_s > 0) std::fprintf(csv_, "%g", published_s);
  std::fprintf(csv_, ",%s\n", run.stats.algorithm.c_str());
  std::fflush(csv_);
}

void GpuReport::compare_strategies() {
  if (automatic_ms_ > 0 && single_ms_ > 0) {
    times_as_long_.push_back(automatic_ms_ / single_ms_);
    std::printf("  the best single strategy: %s; auto took %.2f times as long\n", single_.c_str(),
                times_as_long_.back());
  }
  automatic_ms_ = single_ms_ = 0;
}

bool GpuReport::print_summary() const {
  if (!ratios_.empty()) {
    std::printf("times faster than the best published program: geometric mean %.1f, smallest %.1f of %zu\n",
                geometric_mean(ratios_), *std::min_element(ratios_.begin(), ratios_.end()), ratios_.size());
  }
  if (!times_as_long_.empty()) {
    std::printf("times as long as the best single strategy, auto: geometric mean %.2f, largest %.2f of %zu\n",
                geometric_mean(times_as_long_),
                *std::max_element(times_as_long_.begin(), times_as_long_.end()), times_as_long_.size());
  }
  if (wrong_ > 0) std::printf("%d results are WRONG\n", wrong_);
  if (failed_ > 0) std::printf("%d joins ended with an error\n", failed_);
  return wrong_ == 0 && failed_ == 0;
}

}  // namespace simjoin::bench
