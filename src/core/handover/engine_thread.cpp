#include "core/handover/engine_thread.hpp"

#include <utility>

#include "core/base/check.hpp"

namespace simjoin {

void EngineThread::end() noexcept {
  stop_.set();
  if (queue_) queue_->wake();
  if (thread_.joinable()) thread_.join();
}

void EngineThread::start(std::function<void()> body) {
  SIMJOIN_CHECK(queue_ && !thread_.joinable());
  thread_ = start_thread([this, body = std::move(body)] {
    try {
      body();
    } catch (...) {
      // Cancelled is a failure, too, if it comes of anything but the flag.
      if (!stop_.is_set()) failure_ = std::current_exception();
      stop_.set();
    }
    queue_->finish();
  });
}

StepResult EngineThread::pop(std::chrono::microseconds budget, Batch &out) {
  if (queue_->pop(out, budget)) return StepResult::batch;
  if (!queue_->drained()) return StepResult::working;
  if (failure_) std::rethrow_exception(failure_);
  return StepResult::done;
}

}  // namespace simjoin
