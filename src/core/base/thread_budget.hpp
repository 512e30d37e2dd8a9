// How many threads the pools of all processes of a server have together.
#pragma once

#include <atomic>

namespace simjoin {

// Names the count of such threads, which all processes share. Null, as at first: nothing is counted.
void set_thread_count(std::atomic<int> *shared);

// Sets the number that they may reach together.
void set_thread_limit(int limit);

// Adds up to `wanted` threads to the count, as many as stay within the limit, and returns their number.
int take_threads(int wanted);

// Takes threads that have ended out of the count.
void give_back_threads(int threads);

// Threads that are in the count for as long as the object lives.
class CountedThreads {
 public:
  explicit CountedThreads(int wanted) : taken_(take_threads(wanted)) {}
  ~CountedThreads() { give_back_threads(taken_); }
  CountedThreads(const CountedThreads &) = delete;
  CountedThreads &operator=(const CountedThreads &) = delete;

  int taken() const { return taken_; }

 private:
  const int taken_;
};

}  // namespace simjoin
