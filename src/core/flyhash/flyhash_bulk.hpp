// FlyHash of many vectors at a time, on all threads or on a GPU.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/background_task.hpp"
#include "core/device/device_work.hpp"
#include "core/flyhash/flyhash.hpp"
#include "core/flyhash/flyhash_device.hpp"
#include "core/join.hpp"

namespace simjoin {

// Hashes vectors of one shape in rounds: add vectors until the round is full, step until it is done, take the
// winners, clear. Functions throw Error or std::bad_alloc; afterwards only the destructor may be called.
class BulkFlyHasher {
 public:
  // `gpu_memory_limit`: bytes of device memory; 0 = most of what is free.
  BulkFlyHasher(const FlyShape &shape, Device device, size_t gpu_memory_limit, int threads);

  // Adds a vector: shape.dimension finite values.
  void add(const float *values);
  // Returns whether the round has enough to do.
  bool full() const;

  // Returns whether the round is done, after waiting for it for `budget` at most.
  bool step(std::chrono::microseconds budget);

  // The vectors of the round, and the positions that each one's hash consists of, in ascending order.
  size_t vectors() const { return vectors_; }
  std::span<const uint32_t> winners(size_t vector) const {
    return {winners_.data() + vector * shape_.winners, shape_.winners};
  }
  // Begins the next round.
  void clear();

  // Returns what has happened since the last call that the user should know of; null where nothing has.
  std::unique_ptr<Notice> take_notice() { return std::move(notice_); }
  // Returns which device the rounds so far ran on; between rounds.
  const DeviceUse &use() const { return use_; }

 private:
  void run(WorkerPool &pool);
  void run_on_cpu(WorkerPool &pool);

  const FlyShape shape_;
  Device device_;
  const size_t gpu_memory_limit_;
  const int threads_;
  size_t vectors_ = 0;
  std::vector<uint16_t> levels_;
  std::vector<uint32_t> winners_;
  std::unique_ptr<FlyProjection> projection_;      // once a round has run on the CPU
  std::vector<std::unique_ptr<FlyBlock>> blocks_;  // of each worker, as they are needed
  std::unique_ptr<FlyHashWork> gpu_;               // once a round has run on a GPU
  std::unique_ptr<Notice> notice_;
  DeviceUse use_;
  double cpu_ms_ = 0;                     // estimate for all rounds so far, on the CPU
  std::unique_ptr<BackgroundTask> task_;  // last: it ends before what it works on
};

}  // namespace simjoin
