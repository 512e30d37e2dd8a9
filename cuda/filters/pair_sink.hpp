// The destination of the pairs of a join on one device, or on several.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/handover/result_queue.hpp"
#include "core/join.hpp"

namespace simjoin::gpu {

struct DeviceCollection;

class PairSink {
 public:
  virtual ~PairSink() = default;
  // Called when the sets are on the device, before the first pair.
  virtual void built(const DeviceCollection &collection) { (void)collection; }
  // Takes the pairs and leaves the batch empty. Throws Cancelled if the join is abandoned. Any thread may
  // call it.
  virtual void push(Batch &batch) = 0;
};

// Passes pairs on to the caller's queue.
class QueueSink final : public PairSink {
 public:
  explicit QueueSink(ResultQueue &queue) : queue_(queue) {}
  void push(Batch &batch) override {
    pushed_ = true;
    queue_.push(batch);
  }
  // Returns whether any pairs were pushed.
  bool pushed() const { return pushed_; }

 private:
  ResultQueue &queue_;
  std::atomic<bool> pushed_{false};
};

}  // namespace simjoin::gpu
