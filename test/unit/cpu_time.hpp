// The processor time of a call, which a busy machine does not make longer.
#pragma once

#include <chrono>
#include <ctime>

namespace simjoin::test {

// Returns what a call takes of its own thread's time, or by CLOCK_PROCESS_CPUTIME_ID of all threads'.
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

// Returns whether a call that abandons work takes all threads together little time and is soon over.
template <class Body>
bool ends_at_once(Body &&body) {
  const auto begin = std::chrono::steady_clock::now();
  const auto used = time_of(body, CLOCK_PROCESS_CPUTIME_ID);
  const auto waited = std::chrono::steady_clock::now() - begin;
  return used < std::chrono::milliseconds{500} && waited < std::chrono::seconds{20};
}

}  // namespace simjoin::test
