#include "bench/benchmark.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace simjoin::bench {

namespace {

// Runs the cells in turns for the given number of repeats, so that other work of the machine affects all
// alike. Returns the fastest run of each, with the least processor time of all its runs. A cell that is not
// done keeps its last run.
std::vector<Cell> fastest_runs(const Collection &collection, const RunSettings &settings,
                               const std::vector<Cell> &blanks, int repeats) {
  std::vector<Cell> best = blanks;
  for (int i = 0; i < repeats; ++i) {
    for (size_t c = 0; c < blanks.size(); ++c) {
      if (i > 0 && best[c].outcome != Outcome::done) continue;
      Cell cell = blanks[c];
      run_cell(collection, settings, cell);
      const double cpu_ms = i == 0 ? cell.cpu_ms : std::min(cell.cpu_ms, best[c].cpu_ms);
      if (i == 0 || cell.outcome != Outcome::done || cell.total_ms < best[c].total_ms) best[c] = cell;
      best[c].cpu_ms = cpu_ms;
    }
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
    Collection collection = generate(*shape.profile, generate_options);
    if (options_.shuffled) collection = shuffled(collection, options_.seed);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options_.sets.empty()) run_collection(shape.profile->name, shape.scale, collection, seconds.count());
    for (const size_t sets : options_.sets) {
      // No baseline is of a part of a collection.
      const std::string name = std::to_string(sets) + " of " + shape.profile->name;
      run_collection(name, shape.scale, collection.spread(sets), seconds.count());
    }
  }
  summary_.print();
  return good_;
}

void Benchmark::run_collection(const std::string &name, double scale, const Collection &collection,
                               double generation_s) {
  print_heading(name, scale, collection, generation_s);
  for (Measure measure : options_.measures) {
    for (double threshold : options_.thresholds) run_threshold(name, scale, collection, measure, threshold);
  }
}

void Benchmark::run_threshold(const std::string &name, double scale, const Collection &collection,
                              Measure measure, double threshold) {
  std::optional<uint64_t> pairs;  // from the baseline or the first algorithm
  for (int threads : options_.threads) {
    for (Algorithm algorithm : options_.algorithms) {
      Cell blank;
      blank.shape = name;
      blank.scale = scale;
      blank.seed = options_.seed;
      blank.measure = measure;
      blank.threshold = threshold;
      blank.algorithm = algorithm;
      blank.memory_limit = options_.memory_limit;
      std::vector<Cell> blanks = {blank};
      if (options_.memory_share > 0) {
        const auto bytes = static_cast<double>(array_bytes(collection));
        blanks.push_back(blank);
        blanks.back().memory_limit = static_cast<size_t>(options_.memory_share * bytes);
      }
      const RunSettings settings{threads, options_.time_limit_s};
      const std::vector<Cell> cells = fastest_runs(collection, settings, blanks, options_.repeats);
      for (const Cell &cell : cells) report(cell, collection, pairs);
      if (cells.size() > 1) print_times_as_long(cells[0], cells[1]);
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
  // Within a part of the memory, a join is compared with the same one in memory, on a line of its own.
  if (cell.memory_limit == options_.memory_limit) summary_.add_cell(cell, comparison);
  if (cell.outcome == Outcome::failed) good_ = false;
  if (cell.outcome != Outcome::done) return;
  if (!pairs.has_value()) pairs = published_.pairs(cell).value_or(cell.pairs);
  if (*pairs == cell.pairs) return;
  std::printf("WRONG: %llu pairs expected\n", static_cast<unsigned long long>(*pairs));
  good_ = false;
}

}  // namespace simjoin::bench
