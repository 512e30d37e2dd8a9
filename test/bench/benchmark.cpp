#include "bench/benchmark.hpp"

#include <chrono>
#include <cstdio>

namespace simjoin::bench {

namespace {

// Runs the cell as often as asked and returns the fastest run.
Cell fastest_run(const Collection &collection, const RunSettings &settings, const Cell &blank, int repeats) {
  Cell best;
  for (int i = 0; i < repeats; ++i) {
    Cell cell = blank;
    run_cell(collection, settings, cell);
    if (i == 0 || cell.total_ms < best.total_ms) best = cell;
    if (cell.outcome != Outcome::done) return cell;
  }
  return best;
}

}  // namespace

Benchmark::Benchmark(const Options &options)
    : options_(options), published_(Baseline::read(options.baseline_file)) {
  if (!options.own_file.empty()) own_ = Baseline::read(options.own_file);
  if (!options.csv_file.empty()) csv_.emplace(options.csv_file);
}

bool Benchmark::run() {
  for (const ShapeChoice &shape : options_.shapes) {
    const auto start = std::chrono::steady_clock::now();
    GenerateOptions generate_options;
    generate_options.scale = shape.scale;
    generate_options.seed = options_.seed;
    const Collection collection = generate(*shape.profile, generate_options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    print_heading(shape.profile->name, shape.scale, collection, seconds.count());
    for (Measure measure : options_.measures) {
      for (double threshold : options_.thresholds) run_threshold(shape, collection, measure, threshold);
    }
  }
  summary_.print();
  return good_;
}

void Benchmark::run_threshold(const ShapeChoice &shape, const Collection &collection, Measure measure,
                              double threshold) {
  std::optional<uint64_t> pairs;  // as the baseline or the first algorithm has it
  for (int threads : options_.threads) {
    for (Algorithm algorithm : options_.algorithms) {
      Cell blank;
      blank.shape = shape.profile->name;
      blank.scale = shape.scale;
      blank.seed = options_.seed;
      blank.measure = measure;
      blank.threshold = threshold;
      blank.algorithm = algorithm;
      const RunSettings settings{threads, options_.time_limit_s, options_.memory_limit,
                                 options_.memory_share};
      report(fastest_run(collection, settings, blank, options_.repeats), collection, pairs);
    }
  }
}

void Benchmark::report(const Cell &cell, const Collection &collection, std::optional<uint64_t> &pairs) {
  const Comparison comparison{published_.find(cell), own_ ? own_->find(cell) : nullptr};
  print_cell(cell, comparison);
  if (options_.reasons && cell.algorithm == Algorithm::automatic) {
    for (const std::string &reason : cell.stats.reasons) std::printf("    %s\n", reason.c_str());
  }
  if (csv_) csv_->add_cell(cell, collection.size(), collection.tokens.size(), comparison);
  summary_.add_cell(cell, comparison);
  if (cell.outcome == Outcome::failed) good_ = false;
  if (cell.outcome != Outcome::done) return;
  if (!pairs.has_value()) pairs = published_.pairs(cell).value_or(cell.pairs);
  if (*pairs == cell.pairs) return;
  std::printf("WRONG: %llu pairs expected\n", static_cast<unsigned long long>(*pairs));
  good_ = false;
}

}  // namespace simjoin::bench
