// The processor time of a call, which does not grow on a busy machine.
#pragma once

#include <chrono>
#include <ctime>

namespace simjoin::test {

// Returns the processor time of a call in its own thread, or in all threads with CLOCK_PROCESS_CPUTIME_ID.
template <class Body>
std::chrono::nanoseconds time_of(Body &&body, clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  const auto now = [clock] {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
  };
  const auto begin = now();
  body();
  return now() - begin;
}

// Returns whether a call that abandons work ends soon and takes little processor time of all threads.
template <class Body>
bool ends_at_once(Body &&body) {
  const auto begin = std::chrono::steady_clock::now();
  const auto used = time_of(body, CLOCK_PROCESS_CPUTIME_ID);
  const auto waited = std::chrono::steady_clock::now() - begin;
  return used < std::chrono::milliseconds{500} && waited < std::chrono::seconds{20};
}

}  // namespace simjoin::test
