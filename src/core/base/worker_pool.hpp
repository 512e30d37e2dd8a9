// The engine's threads: parallel loops that stop promptly when the join is abandoned.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace simjoin {

// Thrown inside the engine's threads once the join is abandoned; never leaves the engine.
struct Cancelled {};

// Set once, by whoever abandons the join; looked at by everything that runs for long.
class StopFlag {
 public:
  void set() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  bool is_set() const noexcept { return stopped_.load(std::memory_order_relaxed); }
  void check() const {
    if (is_set()) throw Cancelled{};
  }

 private:
  std::atomic<bool> stopped_{false};
};

// Blocks every signal in the calling thread, and so in the threads that are started meanwhile, for good: the
// process's handlers run in others.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

 private:
  sigset_t before_;
};

// Returns a thread that runs `body` with every signal blocked: the only way to start one. Throws Error
// no_threads where the system gives none.
std::thread start_thread(std::function<void()> body);

// A fixed number of workers: the calling thread and up to `workers - 1` threads of the pool's own (fewer
// where the system gives no more).
class WorkerPool {
 public:
  WorkerPool(int workers, const StopFlag &stop);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  int workers() const { return workers_; }
  const StopFlag &stop() const { return stop_; }

  // Runs body(worker, i) for every i < count, each once, in no particular order but handed out ascending.
  // Returns when all have run. Rethrows the first exception of a body; throws Cancelled where the stop flag
  // was set. Called by one thread at a time, not from within a body.
  void parallel(size_t count, const std::function<void(int worker, size_t i)> &body);

  // The same, `piece` consecutive numbers at a time, between which the stop flag is looked at. The calling
  // thread alone runs fewer than two pieces: to wake others takes longer than it saves.
  void parallel_pieces(size_t count, size_t piece, const std::function<void(int worker, size_t i)> &body);

 private:
  void serve(int worker);
  void drain(int worker);

  int workers_;
  const StopFlag &stop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  const std::function<void(int, size_t)> *body_ = nullptr;
  size_t count_ = 0;
  std::atomic<size_t> next_{0};
  unsigned generation_ = 0;
  int busy_ = 0;
  bool quit_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace simjoin
