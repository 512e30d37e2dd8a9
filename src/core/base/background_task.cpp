#include "core/base/background_task.hpp"

#include <utility>

namespace simjoin {

BackgroundTask::BackgroundTask(int threads, std::function<void(WorkerPool &pool)> body)
    : threads_(thread_count(threads)), body_(std::move(body)), thread_(start_thread([this] { run(); })) {}

BackgroundTask::~BackgroundTask() {
  stop_.set();
  thread_.join();
}

void BackgroundTask::run() {
  try {
    WorkerPool pool(threads_, stop_);
    body_(pool);
  } catch (...) {
    if (!stop_.is_set()) failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  done_ = true;
  finished_.notify_all();
}

bool BackgroundTask::wait(std::chrono::microseconds budget) {
  std::unique_lock lock(mutex_);
  if (!finished_.wait_for(lock, budget, [this] { return done_; })) return false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

}  // namespace simjoin
