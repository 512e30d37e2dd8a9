// The engine's threads: parallel loops that stop promptly when the join is abandoned, and count what they do.
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

// Thrown inside the engine's threads once the join is abandoned, and to a caller who gives up its call.
struct Cancelled {};

// The caller that abandons the join sets it once. Everything that runs for long looks at it.
class StopFlag {
 public:
  void set() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  bool is_set() const noexcept { return stopped_.load(std::memory_order_relaxed); }
  void check() const {
    if (is_set()) throw Cancelled{};
  }
  // Looks at the flag once in 65,536 steps. For loops whose steps take some nanoseconds.
  void check_at(size_t step) const {
    if (step % (size_t{1} << 16) == 0) check();
  }

 private:
  std::atomic<bool> stopped_{false};
};

// Blocks every signal in the calling thread while it lives. Threads that are started meanwhile block them for
// good: other threads run the process's handlers.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

 private:
  sigset_t before_;
};

// Returns a thread that runs `body` with every signal blocked. Threads are started in no other way. Throws
// Error no_threads if the system gives none.
std::thread start_thread(std::function<void()> body);

// Returns the number of threads that a setting asks for, where 0 or less means one for each core: 1 to 1,024.
int thread_count(int setting);

// The share of a computation's work that is done, told while it runs. The work has stages, each with a share
// of the whole that its caller estimates. A stage has passes of known numbers of steps. What is done never
// gets less. One thread begins stages and passes, when every step of the pass before has run. Any thread
// counts steps and asks what is done.
class WorkShare {
 public:
  // Ends the stage before, and begins one that ends at the share `end`. How many passes it has is not known,
  // so each takes the same part of what is left, unless it is the only one.
  void begin_stage(double end, bool one_pass = false);
  void begin_pass(size_t steps);
  void step() noexcept { run_.fetch_add(1, std::memory_order_relaxed); }
  // Ends the work.
  void end() { begin_stage(1), begin_stage(1); }

  // Returns the share, from 0 to 1.
  double done() const;

 private:
  mutable std::mutex mutex_;
  double begin_ = 0, pass_end_ = 0, end_ = 0;  // of the pass, and the end of the stage
  bool one_pass_ = false;
  size_t steps_ = 0;  // of the pass
  std::atomic<size_t> run_{0};
};

// A fixed number of workers: the calling thread and up to `workers - 1` threads of the pool. There are fewer
// if the system or the server's budget (thread_budget) gives no more.
class WorkerPool {
 public:
  WorkerPool(int workers, const StopFlag &stop);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  int workers() const { return workers_; }
  const StopFlag &stop() const { return stop_; }

  // Runs body(worker, i) once for every i < count. Numbers are handed out in ascending order. Returns when
  // all have run. Rethrows the first exception of a body, and throws Cancelled if the stop flag was set.
  // Called by one thread at a time, not from within a body.
  void parallel(size_t count, const std::function<void(int worker, size_t i)> &body);

  // The same, where a number takes long: the bodies call step(), together about `steps` times.
  void parallel_in_steps(size_t count, size_t steps, const std::function<void(int worker, size_t i)> &body);
  void step() const noexcept {
    if (share_ != nullptr) share_->step();
  }
  // From now on each loop is a pass of this work, and what runs counts as steps. Null: of none.
  void count_in(WorkShare *share) { share_ = share; }

  // The same, `piece` consecutive numbers at a time. Looks at the stop flag before each number. The calling
  // thread alone runs fewer than two pieces, since waking others takes longer than it saves.
  void parallel_pieces(size_t count, size_t piece, const std::function<void(int worker, size_t i)> &body);

 private:
  void run(size_t count, const std::function<void(int, size_t)> &body);
  void serve(int worker);
  void drain(int worker);

  int workers_;
  const StopFlag &stop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  const std::function<void(int, size_t)> *body_ = nullptr;
  size_t count_ = 0;
  WorkShare *share_ = nullptr;
  bool numbers_are_steps_ = true;
  std::atomic<size_t> next_{0};
  unsigned generation_ = 0;
  int busy_ = 0;
  bool quit_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace simjoin
