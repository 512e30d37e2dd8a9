// Compares a join by bands with the exact join: its time, and the share of pairs that it finds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/collections.hpp"
#include "core/join.hpp"

namespace simjoin::bench {

// The pairs of a self-join and their similarities.
struct SimilarPairs {
  std::vector<uint64_t> pairs;
  std::vector<double> similarities;
  double seconds = 0;              // from the first set added to the last pair
  double seconds_after_input = 0;  // from the last set added on
  std::string device;
};

class BandJoin {
 public:
  // Makes a collection and joins it exactly, on a GPU if there is a backend and it is faster. Ends the
  // process if there is no such profile.
  BandJoin(const std::string &profile, double scale, double threshold, int threads);

  // Joins the collection by bands `repeats` times and prints the fastest run, its recall, and the predicted
  // recall: the mean probability that the bands of a pair collide, over all pairs. If a pair is found that
  // the exact join lacks, prints that and returns false.
  bool run(Device device, int repeats) const;

 private:
  const std::string profile_;
  const double scale_;
  const double threshold_;
  const int threads_;
  Collection collection_;
  SimilarPairs exact_;  // ascending
};

}  // namespace simjoin::bench
