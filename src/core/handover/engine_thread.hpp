// What engines with threads of their own share: the thread, its failure, and the queue to the caller.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <thread>

#include "core/base/check.hpp"
#include "core/base/worker_pool.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"

namespace simjoin {

// Runs a join beside its caller. As the last member of an engine it is destroyed first, so the thread ends
// before the objects that it works on. If other members use the queue or the flag until their end, it is the
// first member, and the engine's destructor calls end().
class EngineThread {
 public:
  EngineThread() = default;
  ~EngineThread() { end(); }
  EngineThread(const EngineThread &) = delete;
  EngineThread &operator=(const EngineThread &) = delete;

  const StopFlag &stop() const { return stop_; }

  // Makes the queue, once. With capacity 0 no producer ever waits.
  ResultQueue &open_queue(size_t capacity) {
    SIMJOIN_CHECK(!queue_);
    return queue_.emplace(capacity, stop_);
  }
  bool is_open() const { return queue_.has_value(); }
  ResultQueue &queue() { return *queue_; }

  // Runs `body` on a thread. When `body` ends or throws, the queue is finished.
  void start(std::function<void()> body);

  // Stops the join and waits for its thread.
  void end() noexcept;

  // Returns the next batch of the queue as JoinEngine::step does. Rethrows what the body threw.
  StepResult pop(std::chrono::microseconds budget, Batch &out);

 private:
  StopFlag stop_;
  std::optional<ResultQueue> queue_;
  std::exception_ptr failure_;  // set before the queue is finished
  std::thread thread_;
};

}  // namespace simjoin
