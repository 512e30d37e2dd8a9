// The engine for CPU cores: takes sets, runs the join on threads of its own, hands batches to the caller.
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "core/error.hpp"
#include "core/join.hpp"
#include "core/join_execution.hpp"
#include "core/memory.hpp"
#include "core/result_queue.hpp"
#include "core/set_collection.hpp"
#include "core/vocabulary.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {
namespace {

// A join of fewer tokens than this runs within the caller's thread: starting threads would take longer.
constexpr size_t inline_tokens = 20000;
constexpr int max_threads = 1024;
constexpr size_t queued_batches_a_thread = 4;

class CpuEngine final : public JoinEngine {
 public:
  explicit CpuEngine(const JoinSpec &spec)
      : spec_(spec), vocabulary_(memory_), sides_{RawSets(memory_), RawSets(memory_)} {}
  ~CpuEngine() override;

  void add(Side side, std::span<const int32_t> tokens) override { add_set(side, tokens); }
  void add(Side side, std::span<const int64_t> tokens) override { add_set(side, tokens); }
  void add(Side side, std::span<const std::string_view> tokens) override { add_set(side, tokens); }
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override {
    return sides_[static_cast<int>(side)].sizes[row];
  }
  JoinStats stats() const override;

 private:
  using Clock = std::chrono::steady_clock;

  template <typename T>
  void add_set(Side side, std::span<const T> tokens);
  void start();
  void run_on_threads();
  void run_inline(std::chrono::microseconds budget);
  void end_join();

  const JoinSpec spec_;
  MemoryCounter memory_;
  StopFlag stop_;
  Vocabulary vocabulary_;
  RawSets sides_[2];
  int threads_ = 0;
  std::optional<ResultQueue> queue_;
  std::optional<JoinExecution> execution_;
  std::thread main_;                // runs the join; not started for an inline one
  std::optional<WorkerPool> pool_;  // of an inline join
  size_t next_item_ = 0;            // of an inline join
  bool ended_ = false;              // of an inline join
  std::exception_ptr failure_;      // set before the queue is finished
  std::atomic<int64_t> built_{0};   // Clock ticks at the end of the build, and at the last pair
  std::atomic<int64_t> done_{0};
};

CpuEngine::~CpuEngine() {
  stop_.set();
  if (queue_) queue_->wake();
  if (main_.joinable()) main_.join();
}

template <typename T>
void CpuEngine::add_set(Side side, std::span<const T> tokens) {
  if (execution_) throw Error(ErrorKind::internal, "a set was added after the first step of a join");
  if (spec_.self_join && side == Side::right) {
    throw Error(ErrorKind::internal, "a set was added to the right side of a self-join");
  }
  RawSets &sets = sides_[static_cast<int>(side)];
  if (sets.sizes.size() >= size_t{UINT32_MAX} - 1 || tokens.size() >= UINT32_MAX) {
    throw Error(ErrorKind::limit_exceeded, "one side of a join cannot have more than 4294967294 sets");
  }
  const size_t start = sets.ids.size();
  sets.ids.reserve(start + tokens.size());
  const uint32_t size = vocabulary_.intern(side, tokens, sets.ids.data() + start);
  sets.ids.resize(start + size);
  sets.starts.push_back(start);
  sets.sizes.push_back(size);
}

void CpuEngine::start() {
  const bool run_here = sides_[0].ids.size() + sides_[1].ids.size() < inline_tokens;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  threads_ = run_here ? 1 : std::clamp(spec_.threads > 0 ? spec_.threads : cores, 1, max_threads);
  const size_t capacity = run_here ? 0 : queued_batches_a_thread * static_cast<size_t>(threads_);
  queue_.emplace(capacity, stop_);
  execution_.emplace(spec_, vocabulary_, sides_[0], sides_[1], *queue_, stop_, memory_);
  if (run_here) {
    pool_.emplace(1, stop_);
    execution_->build(*pool_);
    built_ = Clock::now().time_since_epoch().count();
  } else {
    main_ = start_thread([this] { run_on_threads(); });
  }
}

// The whole join, on the engine's main thread and its pool.
void CpuEngine::run_on_threads() {
  try {
    WorkerPool pool(threads_, stop_);
    execution_->build(pool);
    built_ = Clock::now().time_since_epoch().count();
    pool.parallel(execution_->items(),
                  [this](int worker, size_t item) { execution_->run_item(worker, item); });
    end_join();
  } catch (const Cancelled &) {
  } catch (...) {
    failure_ = std::current_exception();
    stop_.set();
  }
  queue_->finish();
}

void CpuEngine::end_join() {
  execution_->finish();
  done_ = Clock::now().time_since_epoch().count();
}

// Runs items until the time is up or there are pairs to hand over.
void CpuEngine::run_inline(std::chrono::microseconds budget) {
  const auto until = Clock::now() + budget;
  while (next_item_ < execution_->items()) {
    execution_->run_item(0, next_item_++);
    if (Clock::now() >= until) return;
  }
  if (ended_) return;
  ended_ = true;
  end_join();
  queue_->finish();
}

StepResult CpuEngine::step(std::chrono::microseconds budget, Batch &out) {
  if (!execution_) start();
  if (pool_) {
    if (queue_->pop(out, std::chrono::microseconds(0))) return StepResult::batch;
    run_inline(budget);
    budget = std::chrono::microseconds(0);
  }
  if (queue_->pop(out, budget)) return StepResult::batch;
  if (!queue_->drained()) return StepResult::working;
  if (failure_) std::rethrow_exception(failure_);
  return StepResult::done;
}

JoinStats CpuEngine::stats() const {
  JoinStats stats;
  if (execution_) execution_->add_to(stats);
  stats.threads = threads_;
  stats.memory_peak = memory_.peak();
  const int64_t built = built_, done = done_;
  if (built != 0) {
    const auto end = done != 0 ? Clock::duration(done) : Clock::now().time_since_epoch();
    stats.join_ms = std::chrono::duration<double, std::milli>(end - Clock::duration(built)).count();
  }
  return stats;
}

}  // namespace

std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec) {
  return std::make_unique<CpuEngine>(spec);
}

}  // namespace simjoin
