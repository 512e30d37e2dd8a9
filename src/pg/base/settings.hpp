// The extension's settings (GUCs).
#pragma once

#include "pg/base/pg.hpp"

#include <chrono>
#include <climits>

#include "core/device/gpu.hpp"
#include "core/join.hpp"

namespace simjoin::pg {

// How the join operator finds similar pairs: exactly, or by MinHash, which misses some.
enum class Method : uint8_t { exact, minhash };

inline constexpr std::string_view method_names[] = {"exact", "minhash"};

// The session's current settings. Each function returns the setting simjoin.NAME of the same name.
class Settings {
 public:
  // Defines the settings. Called once, when the module is loaded. The function frees kept inputs until they
  // have at most so many bytes.
  static void define(void (*shrink_input_cache)(size_t));

  static bool enable_join() { return enable_join_; }
  static bool enable_nearest() { return enable_nearest_; }
  static double notice_pairs() { return notice_pairs_; }  // 0: never
  static Algorithm algorithm() { return static_cast<Algorithm>(algorithm_); }
  static Measure measure() { return static_cast<Measure>(measure_); }
  static double similarity_threshold() { return similarity_threshold_; }
  // What the operator ~= compares by.
  struct OfOperator {
    Measure measure;
    double threshold;
  };
  // Errors in a session that runs for another server's if that server has not sent its session's settings. A
  // comparison by other settings would give other rows. Errors also if no similarity by the measure reaches
  // the threshold. The settings themselves may be set one after the other, in either order.
  static OfOperator of_operator();
  // Those with a cap return the smaller of the two.
  // simjoin.memory_limit in bytes where it is not drawn. All others ask memory_limit_of().
  static size_t fixed_memory_limit() {
    return size_t{1024} * static_cast<size_t>(capped(memory_limit_kb_, max_memory_kb_));
  }
  static bool memory_is_drawn() { return memory_limit_kb_ == 0; }
  static size_t max_memory() {  // bytes
    return size_t{1024} * static_cast<size_t>(capped(INT_MAX, max_memory_kb_));
  }
  static size_t input_cache() {  // bytes; 0: none
    return Min(size_t{1024} * static_cast<size_t>(input_cache_kb_), max_memory());
  }
  static int cpu_threads();  // 0: one for each core
  static Device device() { return static_cast<Device>(device_); }
  static size_t gpu_memory_limit() {  // bytes; 0: most of what is free
    return size_t{1024} * static_cast<size_t>(capped(gpu_memory_limit_kb_, max_gpu_memory_kb_));
  }
  static int gpus() { return gpus_; }  // 0: all
  static std::chrono::seconds gpu_idle_timeout() { return std::chrono::seconds(gpu_idle_timeout_s_); }
  static bool explain_device() { return explain_device_; }
  static Method method() { return static_cast<Method>(method_); }
  static uint32_t minhash_permutations() { return static_cast<uint32_t>(minhash_permutations_); }
  static uint64_t minhash_seed() { return static_cast<uint64_t>(minhash_seed_); }
  static double target_recall() { return target_recall_; }
  static uint32_t max_bucket_size() { return static_cast<uint32_t>(max_bucket_size_); }
  static int progress_interval_ms() { return progress_interval_ms_; }  // 0: never
  static int log_min_duration_ms() { return log_min_duration_ms_; }    // below 0: never
  static int debug_device_fault() { return debug_device_fault_; }
  static DeviceLoss debug_device_loss() { return static_cast<DeviceLoss>(debug_device_loss_); }

  // Sets the fields of a specification that say which threads and devices a computation may use.
  template <class Spec>
  static void set_resources(Spec *spec) {
    spec->threads = cpu_threads();
    spec->device = device();
    spec->gpu_memory_limit = gpu_memory_limit();
  }

 private:
  static void define_join_settings();
  static void define_device_settings();
  static void define_minhash_settings();
  static void define_operator_settings();
  static void define_caps();
  static void assign_input_cache(int value, void *);
  static void assign_max_memory(int value, void *);
  // Returns the smaller one of a setting and its cap; 0 stands for as much as there is.
  static int capped(int value, int cap) {
    if (cap == 0 || value == 0) return Max(value, cap);
    return Min(value, cap);
  }

  static inline bool enable_join_ = true;
  static inline bool enable_nearest_ = true;
  static inline double notice_pairs_ = 1e8;
  static inline int algorithm_ = static_cast<int>(Algorithm::automatic);
  static inline int measure_ = static_cast<int>(Measure::jaccard);
  static inline double similarity_threshold_ = 0.7;
  static inline int memory_limit_kb_ = 0;
  static inline int cpu_threads_ = 0;
  static inline int device_ = static_cast<int>(Device::automatic);
  static inline int gpu_memory_limit_kb_ = 0;
  static inline int input_cache_kb_ = 0;
  static inline void (*shrink_input_cache_)(size_t) = nullptr;
  static inline int gpus_ = 0;
  static inline int gpu_idle_timeout_s_ = 60;
  static inline bool explain_device_ = true;
  static inline int method_ = static_cast<int>(Method::exact);
  static inline int minhash_permutations_ = 128;
  static inline int minhash_seed_ = 1;
  static inline double target_recall_ = 0.95;
  static inline int max_bucket_size_ = 10000;
  static inline int max_memory_kb_ = 0;
  static inline int max_threads_ = 0;
  static inline int max_gpu_memory_kb_ = 0;
  static inline int max_server_threads_ = 0;
  static inline int max_server_memory_kb_ = 0;
  static inline int progress_interval_ms_ = 0;
  static inline int log_min_duration_ms_ = -1;
  static inline int debug_device_fault_ = 0;
  static inline int debug_device_loss_ = static_cast<int>(DeviceLoss::none);
};

// Returns a join's specification with everything that comes from the settings filled in. The join shares the
// memory limit with what is done beside it.
JoinSpec spec_from_settings(Measure measure, double threshold, size_t memory_limit);

}  // namespace simjoin::pg
