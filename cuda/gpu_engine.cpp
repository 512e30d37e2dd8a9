// The engine for one GPU: takes sets, runs the join from a thread of its own, hands batches to the caller.
#include "cuda/gpu_engine.hpp"

#include <exception>
#include <optional>
#include <thread>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/result_queue.hpp"
#include "core/vocabulary.hpp"
#include "core/worker_pool.hpp"
#include "cuda/gpu_join.hpp"

namespace simjoin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t queued_batches = 16;

class GpuEngine final : public GpuJoinEngine {
 public:
  GpuEngine(const JoinSpec &spec, const GpuOptions &options)
      : spec_(spec), options_(options), vocabulary_(spec.self_join, memory_), queue_(queued_batches, stop_) {}
  ~GpuEngine() override;

  void add(Side side, std::span<const int32_t> tokens) override {
    add_set(side, Kind::int4, tokens.data(), tokens.size());
  }
  void add(Side side, std::span<const int64_t> tokens) override {
    add_set(side, Kind::int8, tokens.data(), tokens.size());
  }
  void add(Side side, std::span<const std::string_view> tokens) override;
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override { return join_->set_size(side, row); }
  JoinStats stats() const override;
  GpuFigures figures() const override;

 private:
  enum class Kind : uint8_t { none, int4, int8, text };

  void add_set(Side side, Kind kind, const void *tokens, size_t count);
  void check_row(Side side, size_t count) const;
  void open();
  void run_on_thread();

  const JoinSpec spec_;
  const GpuOptions options_;
  MemoryCounter memory_;
  StopFlag stop_;
  Vocabulary vocabulary_;  // of text tokens
  std::vector<uint32_t> ids_;
  Kind kind_ = Kind::none;
  size_t rows_[2] = {0, 0};
  std::optional<gpu::GpuJoin> join_;
  ResultQueue queue_;
  std::thread thread_;
  std::exception_ptr failure_;  // set before the queue is finished
  bool started_ = false;
  double start_ms_ = 0;
};

GpuEngine::~GpuEngine() {
  stop_.set();
  queue_.wake();
  if (thread_.joinable()) thread_.join();
}

void GpuEngine::open() {
  if (join_) return;
  const auto begin = Clock::now();
  join_.emplace(spec_, options_);
  start_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void GpuEngine::check_row(Side side, size_t count) const {
  if (started_) throw Error(ErrorKind::internal, "a set was added after the first step of a join");
  if (spec_.self_join && side == Side::right) {
    throw Error(ErrorKind::internal, "a set was added to the right side of a self-join");
  }
  if (rows_[static_cast<int>(side)] >= size_t{UINT32_MAX} - 1 || count >= UINT32_MAX) {
    throw Error(ErrorKind::limit_exceeded, "one side of a join cannot have more than 4294967294 sets");
  }
}

void GpuEngine::add_set(Side side, Kind kind, const void *tokens, size_t count) {
  check_row(side, count);
  open();
  if (count > 0 && kind_ != kind) {
    if (kind_ != Kind::none) {
      throw Error(ErrorKind::invalid_argument, "the sets of one join must have tokens of one type");
    }
    kind_ = kind;
  }
  ++rows_[static_cast<int>(side)];
  join_->add(side, tokens, static_cast<uint32_t>(count), kind_ == Kind::int8);
}

void GpuEngine::add(Side side, std::span<const std::string_view> tokens) {
  ids_.resize(tokens.size());
  const uint32_t distinct = vocabulary_.intern(side, tokens, ids_.data());
  add_set(side, Kind::text, ids_.data(), distinct);
}

void GpuEngine::run_on_thread() {
  try {
    join_->run(queue_, stop_);
  } catch (const Cancelled &) {
  } catch (...) {
    failure_ = std::current_exception();
    stop_.set();
  }
  queue_.finish();
}

StepResult GpuEngine::step(std::chrono::microseconds budget, Batch &out) {
  if (!started_) {
    open();
    vocabulary_.release();
    started_ = true;
    thread_ = start_thread([this] { run_on_thread(); });
  }
  if (queue_.pop(out, budget)) return StepResult::batch;
  if (!queue_.drained()) return StepResult::working;
  if (failure_) std::rethrow_exception(failure_);
  return StepResult::done;
}

JoinStats GpuEngine::stats() const {
  JoinStats stats;
  if (join_) join_->add_to(stats);
  const GpuFigures figures = this->figures();
  stats.device = figures.device;
  stats.device_memory_peak = figures.device_memory_peak;
  stats.filter_ms = figures.filter_ms;
  stats.verify_ms = figures.verify_ms;
  stats.memory_peak = memory_.peak();
  stats.threads = 1;
  return stats;
}

GpuFigures GpuEngine::figures() const {
  GpuFigures figures;
  if (join_) figures = join_->figures();
  figures.start_ms = start_ms_;
  return figures;
}

}  // namespace

std::unique_ptr<GpuJoinEngine> make_gpu_engine(const JoinSpec &spec, const GpuOptions &options) {
  return std::make_unique<GpuEngine>(spec, options);
}

}  // namespace simjoin
