// Gives back what a process holds of a device once nothing has used it for some time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

namespace simjoin {

// Calls `release` when nothing has been in use for the timeout. The calls come from a thread of its own that
// blocks all signals. The thread starts at the end of the first use with a timeout, and stays.
class IdleRelease {
 public:
  // `release` returns whether it gave everything back. If it did not, it is called again after the timeout.
  // It must not throw and must not begin a use.
  explicit IdleRelease(std::function<bool()> release) : release_(std::move(release)) {}
  ~IdleRelease() { stop(); }
  IdleRelease(const IdleRelease &) = delete;
  IdleRelease &operator=(const IdleRelease &) = delete;

  // Sets the time without a use after which the release comes; 0 = never.
  void set_timeout(std::chrono::milliseconds timeout);

  // Waits for a release under way and ends the thread. From then on nothing is released.
  void stop();

  // Waits for a release under way and begins a use. Nothing is released during a use.
  void begin();
  void end() noexcept;

 private:
  void start_waiting();
  void serve();

  const std::function<bool()> release_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::chrono::milliseconds timeout_{0};
  std::chrono::steady_clock::time_point idle_since_{};
  size_t uses_ = 0;
  bool held_ = false;       // something was in use since the last release
  bool releasing_ = false;  // release_ runs
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace simjoin
