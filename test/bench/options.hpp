// The benchmark's command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/collections.hpp"
#include "core/join.hpp"

namespace simjoin::bench {

// A profile at a scale, e.g. "dblp:0.5".
struct ShapeChoice {
  const Profile *profile;
  double scale;
};

struct Options {
  std::vector<ShapeChoice> shapes;
  std::vector<size_t> sets;  // numbers of sets of each collection to join; empty: all of them
  std::vector<double> thresholds = {0.9, 0.8, 0.7, 0.5};
  std::vector<Algorithm> algorithms = {Algorithm::allpairs, Algorithm::ppjoin, Algorithm::groupjoin,
                                       Algorithm::bitmap, Algorithm::automatic};
  std::vector<Measure> measures = {Measure::jaccard};
  std::vector<int> threads = {0};
  double time_limit_s = 60;  // a cell that takes longer is cancelled
  int repeats = 1;           // the fastest run counts
  uint64_t seed = 1;
  size_t memory_limit = size_t{8} << 30;
  double memory_share = 0;  // of the arrays' bytes: the limit of a second run, unless it is 0
  std::string csv_file;
  std::string baseline_file;  // of published programs
  std::string own_file;       // of this engine's earlier runs
  bool shuffled = false;      // tokens numbered and sets ordered at random
  bool reasons = false;       // print the reasons of `auto`
  bool help = false;
};

// Returns the options. Throws std::invalid_argument with the reason if they are wrong.
Options parse_options(int argc, char **argv);

// Returns the text that --help prints.
std::string usage();

}  // namespace simjoin::bench
