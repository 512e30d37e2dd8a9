// What a join on the device tells of itself while it runs.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "core/join.hpp"
#include "cuda/engine/gpu_engine.hpp"

namespace simjoin::gpu {

// Written by the join's thread, read by any thread.
class JoinReport {
 public:
  // Calls change(stats, figures) while nobody reads them.
  template <class Change>
  void update(Change &&change) {
    const std::lock_guard lock(mutex_);
    change(stats_, figures_);
  }
  // Adds a line to what EXPLAIN tells of the choices.
  void explain(std::string reason) {
    const std::lock_guard lock(mutex_);
    stats_.reasons.push_back(std::move(reason));
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
