// Estimates of the time of a join on the CPU and on a GPU, fitted to one machine. Other GPUs are compared
// with the one of that machine.
#pragma once

#include <cstdint>

#include "core/join.hpp"

namespace simjoin {

// What is known of a GPU's speed without running anything on it.
struct GpuTraits {
  int capability = 0;  // compute capability: 90 is 9.0
  int processors = 0;  // streaming multiprocessors
  double clock_ghz = 0;
  double memory_gb_s = 0;  // bandwidth; 0 = unknown
};

// How many times as long a GPU takes as an H200, on which all costs were measured. Never less than 1: faster
// GPUs were not measured.
struct GpuSlowdown {
  double work = 1;     // for work that needs processors and memory
  double compare = 1;  // for comparing the signatures of sets, by the fastest of the GPU's kernels
  double byte_ns = 0;  // what a byte of an array takes more, on its way to the GPU or back
};

GpuSlowdown slowdown_of(const GpuTraits &traits);

// What the costs of a join depend on.
struct JoinLoad {
  double rows[2] = {0, 0};  // by side
  double tokens = 0;
  bool self_join = false;
  Measure measure = Measure::jaccard;
  double threshold = 0;
};

// Both return the milliseconds of a join: on `threads` threads, and on a GPU that is set up.
double cpu_join_ms(const JoinLoad &load, double threads);
double gpu_join_ms(const JoinLoad &load, const GpuSlowdown &slowdown);
// Returns the part of gpu_join_ms() that grows with the pairs, which several GPUs can share.
double gpu_compare_ms(const JoinLoad &load, const GpuSlowdown &slowdown);
// Returns how many GPUs, of at most `most`, are soonest done with what one compares in `one_ms`. It takes
// `copy_ms` to give the sets to each other one. `started` GPUs are set up.
int gpus_that_pay(double one_ms, double copy_ms, int started, int most);

}  // namespace simjoin
