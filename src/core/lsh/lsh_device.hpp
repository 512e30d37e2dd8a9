// The device that makes the signatures of a join by bands and sorts their bands: the GPU or the CPU, and why.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/parallel_sort.hpp"
#include "core/base/worker_pool.hpp"
#include "core/join.hpp"
#include "core/lsh/lsh_join.hpp"

namespace simjoin {

// The caller's thread may ask what happened while the join runs.
class LshDevice {
 public:
  explicit LshDevice(const LshSpec &spec) : spec_(spec) {}

  // Chooses the device for sets with `tokens` tokens and signatures of `values` values. Throws as use_gpu()
  // does.
  void choose(size_t tokens, size_t values, int threads);
  // Calls gpu() if the join is on the GPU. Calls cpu() if it is not, or if the GPU fails.
  template <class Gpu, class Cpu>
  void run(Gpu &&gpu, Cpu &&cpu);
  // Sorts a band's keys, whose rows ascend.
  void sort(Buffer<SortKey> &keys, WorkerPool &pool, MemoryCounter &memory);

  // Notes the name of the GPU in use, and the number of bytes of it that were held.
  void note_use(const std::string &name, size_t bytes);
  // Notes that the CPU makes signatures: the join then tells why, and names no GPU that has made others.
  void note_cpu();
  // Returns what to tell the user of a failure since the last call; null if there was none.
  std::unique_ptr<Notice> take_notice();
  void add_to(JoinStats &stats) const;

 private:
  void note_failure(const Error &error);

  const LshSpec spec_;
  bool gpu_ = false;
  mutable std::mutex mutex_;  // of what follows
  std::optional<Error> error_;
  std::string refused_;  // why the CPU makes the signatures
  std::string name_;     // of the GPU that has made signatures
  size_t memory_peak_ = 0;
};

template <class Gpu, class Cpu>
void LshDevice::run(Gpu &&gpu, Cpu &&cpu) {
  if (gpu_) {
    try {
      gpu();
      return;
    } catch (const Error &error) {
      note_failure(error);
      const bool replaceable =
          error.kind() == ErrorKind::device_failure || error.kind() == ErrorKind::limit_exceeded;
      if (!replaceable || spec_.device == Device::gpu) throw;
    }
  }
  cpu();
}

}  // namespace simjoin
