// FlyHash of many vectors at a time, on all threads or on a GPU.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/background_task.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/flyhash/flyhash.hpp"
#include "core/flyhash/flyhash_device.hpp"
#include "core/join.hpp"

namespace simjoin {

// Hashes vectors of one shape in rounds: add vectors until the round is full, step until it is done, take the
// winners, clear. Functions throw Error or std::bad_alloc. After an exception only the destructor may be
// called.
class BulkFlyHasher {
 public:
  // `gpu_memory_limit` is in bytes of device memory; 0 = most of the free memory.
  BulkFlyHasher(const FlyShape &shape, Device device, size_t gpu_memory_limit, int threads);

  // Adds a vector: shape.dimension finite values.
  void add(const float *values);
  // Returns whether the round has enough to do.
  bool full() const;

  // Waits for at most `budget`, and returns whether the round is done.
  bool step(std::chrono::microseconds budget);

  // Return the number of vectors of the round, and the positions of each one's hash in ascending order.
  size_t vectors() const { return vectors_; }
  std::span<const uint32_t> winners(size_t vector) const {
    return {winners_.data() + vector * shape_.winners, shape_.winners};
  }
  // Begins the next round.
  void clear();

  // Returns the notice of a failure since the last call; null if there was none.
  std::unique_ptr<Notice> take_notice() { return attempt_.take_notice(); }
  // Tells the device of the rounds so far.
  const GpuAttempt &attempt() const { return attempt_; }

 private:
  void run(WorkerPool &pool);
  void run_on_cpu(WorkerPool &pool);

  const FlyShape shape_;
  GpuAttempt attempt_;
  const size_t gpu_memory_limit_;
  const int threads_;
  size_t vectors_ = 0;
  std::vector<uint16_t> levels_;
  std::vector<uint32_t> winners_;
  std::unique_ptr<FlyProjection> projection_;      // null before the first round on the CPU
  std::vector<std::unique_ptr<FlyBlock>> blocks_;  // of each worker that has worked
  std::unique_ptr<FlyHashWork> gpu_;               // null before the first round on a GPU
  std::unique_ptr<BackgroundTask> task_;           // last, so that it ends before what it works on
};

}  // namespace simjoin
