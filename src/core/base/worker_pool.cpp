#include "core/base/worker_pool.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/base/thread_budget.hpp"

namespace simjoin {
namespace {

// What a pass takes of the rest of its stage.
constexpr double share_of_pass = 0.125;

}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::thread start_thread(std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error &error) {
    throw Error(ErrorKind::no_threads, "could not start a thread: " + error.code().message());
  }
}

int thread_count(int setting) {
  constexpr int most = 1024;
  return std::clamp(setting > 0 ? setting : static_cast<int>(std::thread::hardware_concurrency()), 1, most);
}

void WorkShare::begin_stage(double end, bool one_pass) {
  const std::lock_guard lock(mutex_);
  begin_ = pass_end_ = end_;
  if (end > end_) end_ = std::min(end, 1.0);
  one_pass_ = one_pass;
  steps_ = 0;
}

void WorkShare::begin_pass(size_t steps) {
  const std::lock_guard lock(mutex_);
  begin_ = pass_end_;
  pass_end_ += (end_ - begin_) * (one_pass_ ? 1 : share_of_pass);
  steps_ = steps;
  run_.store(0, std::memory_order_relaxed);
}

double WorkShare::done() const {
  const std::lock_guard lock(mutex_);
  if (steps_ == 0) return begin_;
  const size_t run = std::min(steps_, run_.load(std::memory_order_relaxed));
  return begin_ + (pass_end_ - begin_) * (static_cast<double>(run) / static_cast<double>(steps_));
}

WorkerPool::WorkerPool(int workers, const StopFlag &stop)
    : workers_(take_threads(workers - 1) + 1), stop_(stop) {
  threads_.reserve(static_cast<size_t>(workers_ - 1));
  try {
    for (int worker = 1; worker < workers_; ++worker) {
      threads_.push_back(start_thread([this, worker] { serve(worker); }));
    }
  } catch (const std::exception &) {
    // The system gives no more threads, or no memory for them: continue with those that there are.
    const int started = static_cast<int>(threads_.size()) + 1;
    give_back_threads(workers_ - started);
    workers_ = started;
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  for (std::thread &thread : threads_) thread.join();
  give_back_threads(workers_ - 1);
}

void WorkerPool::parallel(size_t count, const std::function<void(int, size_t)> &body) {
  if (share_ != nullptr) share_->begin_pass(count);
  numbers_are_steps_ = true;
  run(count, body);
}

void WorkerPool::parallel_in_steps(size_t count, size_t steps, const std::function<void(int, size_t)> &body) {
  if (share_ != nullptr) share_->begin_pass(steps);
  numbers_are_steps_ = false;
  run(count, body);
}

void WorkerPool::run(size_t count, const std::function<void(int, size_t)> &body) {
  stop_.check();
  if (count == 0) return;
  {
    const std::lock_guard lock(mutex_);
    SIMJOIN_CHECK(body_ == nullptr);  // no other call is under way
    body_ = &body;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    failure_ = nullptr;
    busy_ = count > 1 ? workers_ : 1;
    if (count > 1) ++generation_;
  }
  if (count > 1) wake_.notify_all();
  drain(0);
  {
    std::unique_lock lock(mutex_);
    --busy_;
    finished_.wait(lock, [this] { return busy_ == 0; });
    body_ = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  stop_.check();
}

void WorkerPool::serve(int worker) {
  unsigned seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return quit_ || generation_ != seen; });
      if (quit_) return;
      seen = generation_;
    }
    drain(worker);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

// Takes indices until none is left. Keeps the first exception, and then lets no worker take another index.
void WorkerPool::drain(int worker) {
  try {
    for (;;) {
      if (stop_.is_set()) return;
      const size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count_) return;
      (*body_)(worker, i);
      if (numbers_are_steps_) step();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    next_.store(count_, std::memory_order_relaxed);
  }
}

void WorkerPool::parallel_pieces(size_t count, size_t piece,
                                 const std::function<void(int worker, size_t i)> &body) {
  const auto run = [&](int worker, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      stop_.check();
      body(worker, i);
    }
  };
  if (count < 2 * piece) return run(0, 0, count);
  parallel((count + piece - 1) / piece, [&](int worker, size_t number) {
    run(worker, number * piece, std::min(count, (number + 1) * piece));
  });
}

}  // namespace simjoin
