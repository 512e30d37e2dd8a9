// Counters and reasons of a join on the device while it runs.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/join.hpp"
#include "cuda/engine/gpu_engine.hpp"

namespace simjoin::gpu {

// Written by the threads of the join, read by any thread.
class JoinReport {
 public:
  // Calls change(stats, figures) under the lock.
  template <class Change>
  void update(Change &&change) {
    const std::lock_guard lock(mutex_);
    change(stats_, figures_);
  }
  // Adds a reason for EXPLAIN, unless it is there.
  void explain(std::string reason) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> &reasons = stats_.reasons;
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  JoinStats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  GpuFigures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;
  JoinStats stats_;
  GpuFigures figures_;
};

}  // namespace simjoin::gpu
