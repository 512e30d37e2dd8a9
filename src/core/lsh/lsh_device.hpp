// Where a join by bands makes its signatures and sorts their bands: on the GPU, else on the CPU, and why.
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

  // Chooses the device, for signatures of so many values of sets with so many tokens. Throws as use_gpu().
  void choose(size_t tokens, size_t values, int threads);
  // Does gpu(), where the join is on the GPU; cpu() where it is not, or the GPU fails and need not have done
  // it.
  template <class Gpu, class Cpu>
  void run(Gpu &&gpu, Cpu &&cpu);
  // Sorts a band's keys, whose rows ascend.
  void sort(Buffer<SortKey> &keys, WorkerPool &pool, MemoryCounter &memory);

  // Notes that the GPU of this name was used and how many bytes of it were held.
  void note_use(const std::string &name, size_t bytes);
  // Returns what to tell the user of a failure since the last call; null where there was none.
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
