// The table and CSV file of the GPU benchmark, compared with published figures.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/baseline.hpp"
#include "gpu/bench_run.hpp"

namespace simjoin::bench {

// The input of a join.
struct Joined {
  std::string file;  // its name: PROFILE-SCALE
  size_t sets = 0;
  size_t tokens = 0;
  bool whole = true;  // all sets of the file, not some of them
  double threshold = 0;
};

class GpuReport {
 public:
  // Writes to the CSV file, unless `csv` is empty, and compares with the files of `baselines`. Throws
  // std::runtime_error if one cannot be opened.
  GpuReport(const std::string &csv, const std::vector<std::string> &baselines);
  ~GpuReport();
  GpuReport(const GpuReport &) = delete;
  GpuReport &operator=(const GpuReport &) = delete;

  void print_heading() const;
  // Prints the run as a line of the table and of the CSV file, and compares it with published programs.
  // `label` begins the line.
  void add(const Joined &joined, const Way &way, const std::string &label, const Run &run);
  // Prints the fastest single strategy since the last call, and the time of `auto` as a multiple of its time.
  void compare_strategies();
  // Prints means and extremes of all comparisons, and the number of runs that failed or found other pairs
  // than a baseline or another run. Returns whether that number is 0.
  bool print_summary() const;

 private:
  void write_line(const Joined &joined, const Way &way, const Run &run, double published_s);

  std::FILE *csv_ = nullptr;
  std::vector<Baseline> baselines_;
  std::vector<double> ratios_;               // to published programs
  std::vector<double> times_as_long_;        // `auto` to the best single strategy
  double automatic_ms_ = 0, single_ms_ = 0;  // of one join; 0 = not timed
  std::string single_;                       // the strategy of single_ms_
  // Pairs of the first successful run by file, number of sets and threshold.
  std::map<std::tuple<std::string, size_t, double>, uint64_t> pairs_;
  int wrong_ = 0, failed_ = 0;
};

}  // namespace simjoin::bench
