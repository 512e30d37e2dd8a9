// The GPU benchmark's table and CSV file, with published figures beside.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/baseline.hpp"
#include "gpu/bench_run.hpp"

namespace simjoin::bench {

// What was joined.
struct Joined {
  std::string file;  // its name, PROFILE-SCALE
  size_t sets = 0;
  size_t tokens = 0;
  bool whole = true;  // the file's sets, not some of them
  double threshold = 0;
};

class GpuReport {
 public:
  // Writes to the CSV file (none where it is empty) and compares with the baselines' files. Throws
  // std::runtime_error where one of them cannot be opened.
  GpuReport(const std::string &csv, const std::vector<std::string> &baselines);
  ~GpuReport();
  GpuReport(const GpuReport &) = delete;
  GpuReport &operator=(const GpuReport &) = delete;

  void print_heading() const;
  // Prints the run as a line of the table and of the CSV file, and says how it compares with published
  // programs; `label` begins the line.
  void add(const Joined &joined, const Way &way, const std::string &label, const Run &run);
  // Says which single strategy was the fastest since the last call, and how many times as long `auto` took.
  void compare_strategies();
  // Prints means and extremes of all that was compared, and how many runs were wrong (other pairs than a
  // baseline's or than another run's) or ended with an error. Returns whether none was or did.
  bool print_summary() const;

 private:
  void write_line(const Joined &joined, const Way &way, const Run &run, double published_s);

  std::FILE *csv_ = nullptr;
  std::vector<Baseline> baselines_;
  std::vector<double> ratios_;               // to published programs
  std::vector<double> times_as_long_;        // `auto` to the best single strategy
  double automatic_ms_ = 0, single_ms_ = 0;  // of one join: 0 = not timed
  std::string single_;                       // the strategy of single_ms_
  // Of the first run with a result, for each file, number of sets and threshold.
  std::map<std::tuple<std::string, size_t, double>, uint64_t> pairs_;
  int wrong_ = 0, failed_ = 0;
};

}  // namespace simjoin::bench
