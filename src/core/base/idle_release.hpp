// What a process holds of a device, given back once nothing has used it for some time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

namespace simjoin {

// Calls `release` on a thread of its own, which blocks all signals, when nothing has been in use for the
// timeout. The thread starts when a use ends that a timeout is set for, and stays.
class IdleRelease {
 public:
  // `release` returns whether it gave everything back. Where not, it is called again after the timeout. It
  // must not throw, and must not begin a use.
  explicit IdleRelease(std::function<bool()> release) : release_(std::move(release)) {}
  ~IdleRelease() { stop(); }
  IdleRelease(const IdleRelease &) = delete;
  IdleRelease &operator=(const IdleRelease &) = delete;

  // Sets how long nothing is in use before the release; 0 = it never comes.
  void set_timeout(std::chrono::milliseconds timeout);

  // Ends the thread, after a release under way. From then on nothing is released.
  void stop();

  // Begins a use, after a release under way. While there is one, nothing is released.
  void begin();
  void end() noexcept;

 private:
  void start_waiting();
  void serve();

  const std::function<bool()> release_;
  std::mutex mutex_;  // guards what follows
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
