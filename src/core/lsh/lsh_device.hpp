// The device that makes the signatures of a join by bands and sorts their bands: the GPU or the CPU, and why.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/join.hpp"
#include "core/lsh/lsh_join.hpp"
#include "core/sort/parallel_sort.hpp"

namespace simjoin {

// The caller's thread may ask what happened while the join runs.
class LshDevice {
 public:
  explicit LshDevice(const LshSpec &spec) : spec_(spec), attempt_(spec.device) {}

  // Chooses the device for sets with `tokens` tokens and signatures of `values` values. Throws as
  // GpuAttempt::choose() does.
  void choose(size_t tokens, size_t values, int threads);
  // As GpuAttempt::run().
  template <class Gpu, class Cpu>
  void run(Gpu &&gpu, Cpu &&cpu) {
    attempt_.run(gpu, cpu);
  }
  // Sorts a band's keys, whose rows ascend, with `scratch` as sort_keys().
  void sort(Buffer<SortKey> &keys, Buffer<SortKey> &scratch, WorkerPool &pool, MemoryCounter &memory);

  // Notes the name of the GPU in use, and the number of bytes of it that were held.
  void note_use(const std::string &name, size_t bytes);
  // Notes that the CPU makes signatures: the join then tells why, and names no GPU that has made others.
  void note_cpu();
  // Returns what to tell the user of a failure since the last call; null if there was none.
  std::unique_ptr<Notice> take_notice() { return attempt_.take_notice(); }
  void add_to(JoinStats &stats) const;

 private:
  const LshSpec spec_;
  GpuAttempt attempt_;
  mutable std::mutex mutex_;  // guards what follows
  std::string name_;          // of the GPU that has made signatures
  size_t memory_peak_ = 0;
};

}  // namespace simjoin
