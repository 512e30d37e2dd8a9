// The engine for GPUs. It takes sets, runs the join on a thread of its own, and passes batches to the caller.
#include "cuda/engine/gpu_engine.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/added_rows.hpp"
#include "core/base/error.hpp"
#include "core/base/thread_budget.hpp"
#include "core/base/wall_clock.hpp"
#include "core/base/worker_pool.hpp"
#include "core/device/device_costs.hpp"
#include "core/handover/engine_thread.hpp"
#include "core/sets/set_blocks.hpp"
#include "cuda/base/device_memory.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/base/page_locked.hpp"
#include "cuda/engine/block_inbox.hpp"
#include "cuda/engine/gpu_join.hpp"
#include "cuda/engine/tiled_join.hpp"

namespace simjoin {
namespace {

constexpr size_t queued_batches = 16;

// Uploads every block to one GPU as it comes, and joins all at once. If they do not fit, it joins them in
// tiles, on several GPUs where there are some, from blocks that it keeps up to JoinSpec::memory_limit. Its
// thread sets the GPU up and uploads, so that the caller goes on reading meanwhile.
class GpuEngine final : public GpuJoinEngine {
 public:
  GpuEngine(const JoinSpec &spec, const GpuOptions &options)
      : spec_(with_measure_of_pairs(spec)),
        options_(options),
        rows_(spec.self_join),
        inbox_(spec.memory_limit / 4) {}
  ~GpuEngine() override;

  void add_block(SharedBlock block) override;
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override;
  JoinStats stats() const override;
  GpuFigures figures() const override;
  double share_done() const override;

 private:
  void start();
  void open();
  void take(const SharedBlock &block);
  void keep(const SharedBlock &block);
  void upload(const SharedBlock &block);
  void give_single_up();
  void set_others_up();
  int workers() const;
  void run();
  void join();
  void run_in_tiles();

  const JoinSpec spec_;
  const GpuOptions options_;
  AddedRows rows_;
  gpu::BlockInbox inbox_;
  bool ended_ = false;                 // all sets have been added
  std::optional<gpu::DeviceUse> use_;  // from the first block on

  // Of the engine's thread, until the caller gets pairs.
  gpu::RecordedSides recorded_;
  size_t recorded_bytes_ = 0;
  bool keeps_ = true;  // recorded_ has all blocks; otherwise lengths_ has only their lengths
  std::vector<uint32_t> lengths_[2];
  int device_ = 0;      // the current one of that thread
  std::thread others_;  // sets other GPUs up
  StopFlag ends_;       // of that thread

  mutable std::mutex mutex_;  // guards the following
  double start_ms_ = 0, marshal_ms_ = 0;
  std::unique_ptr<gpu::GpuJoin> single_;   // the join of all sets at once
  std::unique_ptr<gpu::TiledJoin> tiled_;  // the join in tiles
  EngineThread thread_;
};

void GpuEngine::open() {
  if (single_ || recorded_bytes_ > 0) return;
  const auto begin = WallClock::now();
  gpu::use_device(0);
  auto single = std::make_unique<gpu::GpuJoin>(spec_, options_);
  cudaGetDevice(&device_);
  const std::lock_guard lock(mutex_);
  single_ = std::move(single);
  start_ms_ = milliseconds_since(begin);
}

// The caller's thread frees what is on the device, so that must be its current one, too.
GpuEngine::~GpuEngine() {
  inbox_.close();
  ends_.set();
  thread_.end();
  if (others_.joinable()) others_.join();
  if (!single_ && !tiled_) return;
  cudaSetDevice(device_);
  cudaGetLastError();
}

// Starts the engine's thread, unless it runs. Throws what it failed of.
void GpuEngine::start() {
  if (thread_.is_open()) {
    Batch none;  // there are no pairs before the end of the input
    thread_.pop(std::chrono::microseconds(0), none);
    return;
  }
  use_.emplace();
  thread_.open_queue(queued_batches);
  thread_.start([this] { run(); });
}

void GpuEngine::add_block(SharedBlock block) {
  rows_.add(block->side(), block->all(), ended_);
  start();
  inbox_.push(std::move(block));
}

void GpuEngine::take(const SharedBlock &block) {
  open();
  const auto begin = WallClock::now();
  keep(block);
  if (single_) {
    upload(block);
  } else {
    // All GPUs get it once the input has ended. Page-locking takes longer than the copy.
    std::string why;
    gpu::lock_pages(block->piece(), why);
  }
  const std::lock_guard lock(mutex_);
  marshal_ms_ += milliseconds_since(begin);
}

// Keeps the block, or only the lengths of its sets if the memory limit allows no more.
void GpuEngine::keep(const SharedBlock &block) {
  recorded_bytes_ += block->bytes_used();
  if (keeps_ && recorded_bytes_ > spec_.memory_limit) {
    if (!single_) {
      throw Error(
          ErrorKind::limit_exceeded,
          "half of simjoin.memory_limit does not hold the sets of a join that a GPU has no memory for",
          "Raise simjoin.memory_limit or simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
    }
    keeps_ = false;
    for (size_t side = 0; side < 2; ++side) {
      for (const SharedBlock &kept : std::exchange(recorded_.blocks[side], {})) {
        const SetSlice all = kept->all();
        lengths_[side].insert(lengths_[side].end(), all.lengths, all.lengths + all.rows);
      }
    }
  }
  if (keeps_) return recorded_.add(block);
  const SetSlice all = block->all();
  std::vector<uint32_t> &lengths = lengths_[static_cast<size_t>(block->side())];
  lengths.insert(lengths.end(), all.lengths, all.lengths + all.rows);
}

// Uploads the block while one GPU is expected to have room for all sets.
void GpuEngine::upload(const SharedBlock &block) {
  const bool fits = !keeps_ || recorded_.size().fits(static_cast<double>(single_->memory_limit()));
  try {
    if (fits && options_.tile_rows == 0) return single_->add(block->side(), block, block->all());
  } catch (const Error &error) {
    if (error.kind() != ErrorKind::limit_exceeded || !keeps_) throw;
  }
  give_single_up();
  set_others_up();
}

// Sets the other GPUs that will share the join up, while more sets come. That takes a second with four.
void GpuEngine::set_others_up() {
  const int gpus = workers();
  if (gpus < 2) return;
  try {
    others_ = start_thread([this, gpus] {
      try {
        for (int number = 1; number < gpus && !ends_.is_set(); ++number) {
          gpu::use_device(number);
          gpu::device_memory_limit(0);  // makes the pool
        }
      } catch (const std::exception &) {  // the workers on tiles will say so
      }
    });
  } catch (const Error &) {  // then the workers set them up
  }
}

void GpuEngine::give_single_up() {
  std::unique_ptr<gpu::GpuJoin> gone;
  const std::lock_guard lock(mutex_);
  gone = std::move(single_);
}

// Returns how many GPUs share a join in tiles.
int GpuEngine::workers() const {
  if (options_.workers > 0) return options_.workers;
  const auto usable = static_cast<int>(usable_gpus().size());
  const JoinLoad load{{static_cast<double>(recorded_.rows[0]), static_cast<double>(recorded_.rows[1])},
                      static_cast<double>(recorded_.tokens[0] + recorded_.tokens[1]),
                      spec_.self_join,
                      spec_.measure,
                      spec_.threshold};
  return gpus_that_pay(gpu_compare_ms(load, gpu_slowdown()), 0, gpus_started(),
                       options_.gpus == 0 ? usable : std::min(options_.gpus, usable));
}

void GpuEngine::run_in_tiles() {
  give_single_up();
  if (others_.joinable()) others_.join();
  // The thread that waits for the workers counts as one of them.
  const CountedThreads threads(workers() - 1);
  {
    const std::lock_guard lock(mutex_);
    tiled_ = std::make_unique<gpu::TiledJoin>(spec_, options_, recorded_, threads.taken() + 1);
  }
  tiled_->run(thread_.queue(), thread_.stop());
}

// Takes the blocks and runs the join, on the engine's thread.
void GpuEngine::run() {
  try {
    while (const SharedBlock block = inbox_.pop()) take(block);
    open();
    join();
  } catch (...) {
    inbox_.close();
    throw;
  }
}

void GpuEngine::join() {
  if (!single_) return run_in_tiles();
  gpu::QueueSink sink(thread_.queue());
  try {
    single_->run(sink, thread_.stop());
    return;
  } catch (const Error &error) {
    // A new join would repeat the pairs that were handed over.
    if (error.kind() != ErrorKind::limit_exceeded || !keeps_ || sink.pushed()) throw;
  }
  run_in_tiles();
}

StepResult GpuEngine::step(std::chrono::microseconds budget, Batch &out) {
  if (!ended_) {
    start();
    inbox_.end();
    ended_ = true;
  }
  return thread_.pop(budget, out);
}

uint32_t GpuEngine::set_size(Side side, uint32_t row) const {
  if (tiled_) return tiled_->set_size(side, row);
  const std::vector<uint32_t> &sizes = single_->set_sizes(side);
  if (!sizes.empty()) return sizes[row];
  const auto s = static_cast<size_t>(side);
  return keeps_ ? recorded_.length(s, row) : lengths_[s][row];
}

JoinStats GpuEngine::stats() const {
  JoinStats stats;
  const GpuFigures figures = this->figures();
  {
    const std::lock_guard lock(mutex_);
    if (single_) stats = single_->stats();
    if (tiled_) stats = tiled_->stats();
  }
  stats.device = figures.device;
  stats.device_memory_peak = figures.device_memory_peak;
  stats.filter_ms = figures.filter_ms;
  stats.verify_ms = figures.verify_ms;
  stats.threads = 1;
  return stats;
}

GpuFigures GpuEngine::figures() const {
  GpuFigures figures;
  const std::lock_guard lock(mutex_);
  if (single_) figures = single_->figures();
  if (tiled_) figures = tiled_->figures();
  figures.start_ms = start_ms_;
  figures.marshal_ms = marshal_ms_;
  return figures;
}

double GpuEngine::share_done() const {
  const std::lock_guard lock(mutex_);
  return tiled_ ? tiled_->share_done() : unknown_share;
}

}  // namespace

std::unique_ptr<GpuJoinEngine> make_gpu_engine(const JoinSpec &spec, const GpuOptions &options) {
  return std::make_unique<GpuEngine>(spec, options);
}

}  // namespace simjoin
