// Collections for the GPU benchmark, and timed joins of them on either device.
#pragma once

#include <string>
#include <vector>

#include "bench/collections.hpp"
#include "cuda/engine/gpu_engine.hpp"

namespace simjoin::bench {

// Returns the sets of a file with one set per line. Throws std::runtime_error if the file cannot be read.
Collection read_collection(const std::string &path);

// The device and the options of a self-join by Jaccard similarity.
struct Way {
  bool gpu = true;               // otherwise by the CPU engine
  bool cpu_gpu = false;          // candidates from the CPU, verified on the GPU
  GpuOptions options;            // of joins on the GPU
  int threads = 0;               // of the CPU; 0 = one per core
  std::string strategy, kernel;  // their names
};

// Wall-clock milliseconds of one join, the best of its repeats.
struct Run {
  std::string error;     // why there is no result; empty if there is one
  bool stopped = false;  // at the time limit, which is no failure
  double total_ms = 0;   // from the first set added, one by one, to the last pair
  double engine_ms = 0;  // the part of it after the last set was added
  // On a GPU, of another join whose sets are in host memory: from the first block added to the last pair.
  double upload_ms = 0;
  uint64_t pairs = 0;
  GpuFigures figures;  // of the fastest run by engine_ms
  JoinStats stats;
};

// Times the join `repeats` times, or fewer if it takes long. A join that exceeds the limit is stopped.
Run time_join(const Collection &collection, double threshold, const Way &way, int repeats, double limit_s);

}  // namespace simjoin::bench
