// Candidate pairs and verified pairs in device memory. Their number is bounded but counted beyond the bound,
// so that an overflow is seen and the work repeated in smaller pieces.
#pragma once

#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

// A pair of set numbers, one of each side.
struct Candidate {
  uint32_t probe;
  uint32_t partner;
};

struct PairCounters {
  unsigned long long candidates;
  unsigned long long verified;  // candidates whose tokens were compared
  unsigned long long results;
  unsigned long long long_pairs;  // of the current verification
  unsigned long long groups;      // of partners that a comparison did not rule out
  unsigned int next_item;
};

struct CandidateView {
  Candidate *pairs;
  uint64_t capacity;
  PairCounters *counters;
};

// Verified pairs: rows and the number of tokens they share.
struct ResultColumns {
  ResultColumns(Device &device, uint64_t capacity)
      : left(device, capacity), right(device, capacity), overlap(device, capacity) {}

  DeviceBuffer<uint32_t> left;
  DeviceBuffer<uint32_t> right;
  DeviceBuffer<uint32_t> overlap;
};

struct CandidateBuffer {
  CandidateBuffer(Device &device, uint64_t capacity)
      : pairs(device, capacity),
        results(device, capacity),
        long_pairs(device, capacity),
        counters(device, 1) {}

  CandidateView view() const { return {pairs.data(), pairs.size(), counters.data()}; }

  DeviceBuffer<Candidate> pairs;
  ResultColumns results;              // never more than candidates
  DeviceBuffer<uint32_t> long_pairs;  // candidates that a whole block verifies
  DeviceBuffer<PairCounters> counters;
};

}  // namespace simjoin::gpu
