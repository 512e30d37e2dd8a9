// What a busy machine does not change: the processor time of a call, and that a state comes at some time.
#pragma once

#include <chrono>
#include <ctime>
#include <thread>

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

// Returns whether a call that abandons work takes little processor time of all threads. run-shards stops a
// call that never ends.
template <class Body>
bool ends_at_once(Body &&body) {
  return time_of(body, CLOCK_PROCESS_CPUTIME_ID) < std::chrono::milliseconds{500};
}

// Returns true as soon as the condition holds. Gives up only after a time in which every machine gets to it.
template <class Condition>
bool comes_true(Condition &&condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{10};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace simjoin::test
