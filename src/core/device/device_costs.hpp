// What a join takes the CPU and a GPU, by estimates that were fitted to one machine, and how other GPUs
// compare with the one of that machine.
#pragma once

#include <cstdint>

#include "core/join.hpp"

namespace simjoin {

// What there is to know of a GPU's speed without running anything on it.
struct GpuTraits {
  int capability = 0;  // compute capability: 90 is 9.0
  int processors = 0;  // streaming multiprocessors
  double clock_ghz = 0;
  double memory_gb_s = 0;  // bandwidth; 0 = not known
};

// How many times as long as an H200, on which the costs of all computations were measured, another GPU takes.
// Never less than once: faster ones were not measured.
struct GpuSlowdown {
  double work = 1;     // for what needs processors and memory
  double compare = 1;  // for comparing the signatures of sets, by the fastest of the GPU's kernels
};

GpuSlowdown slowdown_of(const GpuTraits &traits);

// What a join's costs follow from.
struct JoinLoad {
  double rows[2] = {0, 0};  // by side
  double tokens = 0;
  bool self_join = false;
  Measure measure = Measure::jaccard;
  double threshold = 0;
};

// Return the milliseconds of a join on so many threads, and on a GPU that is set up.
double cpu_join_ms(const JoinLoad &load, double threads);
double gpu_join_ms(const JoinLoad &load, const GpuSlowdown &slowdown);
// Returns what of that goes by pairs, which several GPUs can share.
double gpu_compare_ms(const JoinLoad &load, const GpuSlowdown &slowdown);

}  // namespace simjoin
