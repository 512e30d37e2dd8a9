// The CPU time of a thread.
#pragma once

#include <chrono>
#include <ctime>

namespace simjoin {

// A clock of the calling thread. It stands still while the thread waits or another thread has its core.
// Reading it takes a system call.
struct ThreadClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ThreadClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

}  // namespace simjoin
