#include "core/base/idle_release.hpp"

#include <exception>

#include "core/base/check.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

void IdleRelease::stop() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IdleRelease::set_timeout(std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex_);
  if (timeout == timeout_) return;
  timeout_ = timeout;
  if (uses_ == 0 && held_) start_waiting();
}

void IdleRelease::begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !releasing_; });
  ++uses_;
  held_ = true;
}

void IdleRelease::end() noexcept {
  const std::lock_guard lock(mutex_);
  SIMJOIN_CHECK(uses_ > 0);
  if (--uses_ > 0) return;
  idle_since_ = std::chrono::steady_clock::now();
  start_waiting();
}

// Wakes the thread, or starts it. If the system gives no thread, the next use tries again.
void IdleRelease::start_waiting() {
  if (thread_.joinable()) {
    changed_.notify_all();
  } else if (timeout_.count() > 0 && !quit_) {
    try {
      thread_ = start_thread([this] { serve(); });
    } catch (const std::exception &) {
    }
  }
}

void IdleRelease::serve() {
  std::unique_lock lock(mutex_);
  while (!quit_) {
    if (uses_ > 0 || !held_ || timeout_.count() == 0) {
      changed_.wait(lock);
      continue;
    }
    const auto due = idle_since_ + timeout_;
    if (std::chrono::steady_clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;
    }
    releasing_ = true;
    lock.unlock();
    const bool all = release_();
    lock.lock();
    releasing_ = false;
    held_ = !all;
    idle_since_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
}

}  // namespace simjoin
