// Samples of the pairs of a join, to estimate what filters rule out.
#pragma once

#include <cstdint>
#include <vector>

#include "core/candidates/join_problem.hpp"

namespace simjoin {

// A sequence of numbers that is the same in every run.
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(88172645463325252u ^ seed * 0x9E3779B97F4A7C15u) {}

  // Returns a number below `limit`.
  uint64_t below(uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(state_) * limit >> 64);
  }

 private:
  uint64_t state_;
};

// The probe classes [begin, end) and their pairs of compatible sizes. The sizes are so alike that one sample
// represents all.
struct SizeBand {
  uint32_t begin;
  uint32_t end;
  uint32_t sets;
  uint64_t pairs;
};

// Returns the probe classes cut into bands within which the largest set is less than 1.5 times the smallest.
std::vector<SizeBand> size_bands(const JoinProblem &problem);

struct SampledPair {
  uint32_t probe;
  uint32_t partner;
  uint32_t probe_class;
  uint32_t index_class;
  uint32_t required;  // the least overlap
};

// Returns up to `count` pairs of compatible sizes, drawn evenly from those of a band. There are fewer if
// their sets have more than `tokens` tokens in all.
std::vector<SampledPair> sample_pairs(const JoinProblem &problem, const SizeBand &band, uint32_t count,
                                      uint64_t tokens);

}  // namespace simjoin
