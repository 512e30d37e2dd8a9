// simjoin_bench: times the engine on synthetic collections of the published shapes.
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/baseline.hpp"
#include "bench/cell.hpp"
#include "bench/collections.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"

namespace {

using namespace simjoin;
using namespace simjoin::bench;

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

class Benchmark {
 public:
  explicit Benchmark(const Options &options)
      : options_(options), baseline_(Baseline::read(options.baseline_file)) {
    if (!options.csv_file.empty()) csv_.emplace(options.csv_file);
  }

  // Runs all cells; returns whether none failed and all found the right number of pairs.
  bool run() {
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
    return good_;
  }

 private:
  void run_threshold(const ShapeChoice &shape, const Collection &collection, Measure measure,
                     double threshold) {
    std::optional<uint64_t> pairs;  // as the baseline or the first algorithm has it
    for (Algorithm algorithm : options_.algorithms) {
      for (int threads : options_.threads) {
        Cell blank;
        blank.shape = shape.profile->name;
        blank.scale = shape.scale;
        blank.seed = options_.seed;
        blank.measure = measure;
        blank.threshold = threshold;
        blank.algorithm = algorithm;
        const RunSettings settings{threads, options_.time_limit_s, options_.memory_limit,
                                   options_.memory_share};
        const Cell cell = fastest_run(collection, settings, blank, options_.repeats);
        const BaselineTime *baseline = baseline_.find(cell);
        print_cell(cell, baseline);
        if (csv_) csv_->add_cell(cell, collection, baseline);
        if (cell.outcome == Outcome::failed) good_ = false;
        if (cell.outcome != Outcome::done) continue;
        if (!pairs.has_value()) pairs = baseline_.pairs(cell).value_or(cell.pairs);
        if (*pairs != cell.pairs) {
          std::printf("WRONG: %llu pairs expected\n", static_cast<unsigned long long>(*pairs));
          good_ = false;
        }
      }
    }
  }

  const Options &options_;
  Baseline baseline_;
  std::optional<CsvFile> csv_;
  bool good_ = true;
};

}  // namespace

int main(int argc, char **argv) {
  try {
    Options options = parse_options(argc, argv);
    if (options.help) {
      std::printf("%s", usage().c_str());
      return 0;
    }
    if (options.baseline_file.empty()) options.baseline_file = SIMJOIN_BENCH_BASELINE;
    return Benchmark(options).run() ? 0 : 1;
  } catch (const std::invalid_argument &error) {
    std::fprintf(stderr, "simjoin_bench: %s\n%s", error.what(), usage().c_str());
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "simjoin_bench: %s\n", error.what());
    return 1;
  }
}
