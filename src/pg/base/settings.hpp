// The extension's settings (GUCs).
#pragma once

#include "pg/base/pg.hpp"

#include "core/join.hpp"

namespace simjoin::pg {

// How the join operator finds similar pairs: all of them, or by MinHash most of them.
enum class Method : uint8_t { exact, minhash };

inline constexpr std::string_view method_names[] = {"exact", "minhash"};

extern bool enable_join;             // simjoin.enable_join
extern int algorithm;                // simjoin.algorithm, an Algorithm
extern int measure;                  // simjoin.measure, a Measure
extern double similarity_threshold;  // simjoin.similarity_threshold
extern int memory_limit_kb;          // simjoin.memory_limit
extern int cpu_threads;              // simjoin.cpu_threads, 0 = one for each core
extern int device;                   // simjoin.device, a Device
extern int gpus;                     // simjoin.gpus, 0 = all
extern int gpu_idle_timeout_s;       // simjoin.gpu_idle_timeout, 0 = never
extern int gpu_memory_limit_kb;      // simjoin.gpu_memory_limit, 0 = most of what is free
extern bool explain_device;          // simjoin.explain_device
extern int method;                   // simjoin.method, a Method
extern int minhash_permutations;     // simjoin.minhash_permutations
extern int minhash_seed;             // simjoin.minhash_seed
extern double target_recall;         // simjoin.target_recall
extern int max_bucket_size;          // simjoin.max_bucket_size
extern int debug_device_fault;       // simjoin.debug_device_fault, see there
extern int debug_device_loss;        // simjoin.debug_device_loss, a DeviceLoss

// Return the limits in bytes.
inline size_t memory_limit_bytes() {
  return static_cast<size_t>(memory_limit_kb) * 1024;
}
inline size_t gpu_memory_limit_bytes() {
  return static_cast<size_t>(gpu_memory_limit_kb) * 1024;
}

// Defines the settings. Called once, when the module is loaded.
void define_settings();

// Returns a join's specification with everything that comes from the settings filled in.
JoinSpec spec_from_settings(Measure measure, double threshold);

// Returns the measure of this name. Errors with the list of valid names; `function` is who asks.
Measure measure_by_name(const char *name, const char *function);

}  // namespace simjoin::pg
