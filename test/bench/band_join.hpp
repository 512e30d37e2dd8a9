// A join by bands beside the exact one: how long it takes, and how many of the pairs it finds.
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
  // Makes a collection and joins it exactly, on a GPU where there is a backend and it pays. Ends the process
  // where there is no such profile.
  BandJoin(const std::string &profile, double scale, double threshold, int threads);

  // Joins it by bands `repeats` times and prints the fastest run, its recall, and the recall predicted: the
  // mean over the pairs there are of the probability that their bands collide. Returns false, and says so,
  // where a pair is found that the exact join has not.
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
