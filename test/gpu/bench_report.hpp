// The GPU benchmark's figures beside published ones, in the form of the CPU benchmark's CSV files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/baseline.hpp"
#include "bench/report.hpp"
#include "core/join.hpp"

namespace simjoin::bench {

// One join, timed from the last set added to the last pair handed over.
struct GpuRun {
  std::string file;  // named PROFILE-SCALE
  double threshold = 0;
  size_t sets = 0;
  size_t tokens = 0;
  double scan_ms = 0;
  double seconds = 0;
  uint64_t pairs = 0;
  JoinStats stats;
};

class GpuReport {
 public:
  // Writes to the CSV file (none where it is empty) and compares with the baselines' files.
  GpuReport(const std::string &csv, const std::vector<std::string> &baselines);

  // Notes a run; returns how many times faster it was than the best published program, where one is known.
  // `wrong` is set where the number of pairs is known and another one.
  std::optional<double> add(const GpuRun &run, bool &wrong);
  // Prints the geometric mean and the smallest of the ratios, and how many runs were wrong.
  void print_summary() const;

 private:
  std::optional<CsvFile> csv_;
  std::vector<Baseline> baselines_;
  std::vector<double> ratios_;
  int wrong_ = 0;
};

}  // namespace simjoin::bench
