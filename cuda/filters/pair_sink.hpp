// Where a join on one device leaves its pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/handover/result_queue.hpp"
#include "core/join.hpp"

namespace simjoin::gpu {

struct DeviceCollection;

class PairSink {
 public:
  virtual ~PairSink() = default;
  // Called once the sets are on the device, before the first pair.
  virtual void built(const DeviceCollection &collection) { (void)collection; }
  // Takes the pairs and leaves the batch empty. Throws Cancelled where the join is abandoned.
  virtual void push(Batch &batch) = 0;
};

// Passes the pairs on to the caller's queue.
class QueueSink final : public PairSink {
 public:
  explicit QueueSink(ResultQueue &queue) : queue_(queue) {}
  void push(Batch &batch) override {
    pushed_ = true;
    queue_.push(batch);
  }
  // Returns whether there have been pairs.
  bool pushed() const { return pushed_; }

 private:
  ResultQueue &queue_;
  bool pushed_ = false;
};

}  // namespace simjoin::gpu
