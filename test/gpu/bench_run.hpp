// What the GPU benchmark times: collections, and joins of them on either device.
#pragma once

#include <string>
#include <vector>

#include "bench/collections.hpp"
#include "cuda/engine/gpu_engine.hpp"

namespace simjoin::bench {

// Returns the sets of a file with one a line. Throws std::runtime_error where it cannot be read.
Collection read_collection(const std::string &path);

// How a self-join by Jaccard similarity is computed.
struct Way {
  bool gpu = true;               // otherwise by the CPU engine
  bool cpu_gpu = false;          // candidates by the CPU, verified on the GPU
  GpuOptions options;            // of joins on the GPU
  int threads = 0;               // of the CPU; 0 = one for each core
  std::string strategy, kernel;  // their names
};

// Milliseconds of one join, the best of its repeats; wall clock.
struct Run {
  std::string error;     // why there is no result; empty where there is one
  bool stopped = false;  // at the time limit, which is no fault
  double total_ms = 0;   // from the first set added, one by one, to the last pair
  double engine_ms = 0;  // of that, from the last set added
  // On a GPU, of another join, whose sets lie in the host's memory: from the first block added to the last
  // pair.
  double upload_ms = 0;
  uint64_t pairs = 0;
  GpuFigures figures;  // of the fastest by engine_ms
  JoinStats stats;
};

// Times the join by whatever number of repeats, fewer where it takes long. A join that takes longer than the
// limit is stopped.
Run time_join(const Collection &collection, double threshold, const Way &way, int repeats, double limit_s);

}  // namespace simjoin::bench
