// The benchmark's loop over collections, measures, thresholds, algorithms and numbers of threads.
#pragma once

#include <optional>

#include "bench/baseline.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "bench/summary.hpp"

namespace simjoin::bench {

class Benchmark {
 public:
  explicit Benchmark(const Options &options);

  // Runs all cells. Returns whether none failed and all found the right number of pairs.
  bool run();

 private:
  // Run all cells of a collection, or of one of its thresholds. The baselines know it by its name and scale.
  void run_collection(const std::string &name, double scale, const Collection &collection,
                      double generation_s);
  void run_threshold(const std::string &name, double scale, const Collection &collection, Measure measure,
                     double threshold);
  // Prints and keeps the result. `pairs` is the number that the join must find, if it is known.
  void report(const Cell &cell, const Collection &collection, std::optional<uint64_t> &pairs);

  const Options &options_;
  Baseline published_;
  std::optional<Baseline> own_;
  std::optional<CsvFile> csv_;
  Summary summary_;
  bool good_ = true;
};

}  // namespace simjoin::bench
