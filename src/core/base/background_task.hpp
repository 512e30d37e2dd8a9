// A long computation on threads of its own, so that its caller can look for interrupts meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core/base/worker_pool.hpp"

namespace simjoin {

// Runs a function once, on a thread of its own with a pool of workers. The function looks at the pool's stop
// flag every few milliseconds. The destructor sets the flag and waits until the function ends.
class BackgroundTask {
 public:
  // `threads` is the number of workers; 0 = one for each core.
  BackgroundTask(int threads, std::function<void(WorkerPool &pool)> body);
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask &) = delete;
  BackgroundTask &operator=(const BackgroundTask &) = delete;

  // Waits for at most `budget`, and returns whether the function has ended. Rethrows what the function threw.
  bool wait(std::chrono::microseconds budget);

 private:
  void run();

  const int threads_;
  std::function<void(WorkerPool &)> body_;
  StopFlag stop_;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace simjoin
