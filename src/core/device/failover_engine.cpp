#include "core/device/failover_engine.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/memory_shares.hpp"
#include "core/base/packed_texts.hpp"
#include "core/device/device_costs.hpp"
#include "core/device/gpu.hpp"
#include "core/device/gpu_attempt.hpp"

namespace simjoin {
namespace {

// A look is due after this many rows, or after this part of the memory limit.
constexpr uint32_t rows_between_looks = 1024;
constexpr size_t looks_per_limit = 64;
constexpr std::chrono::microseconds at_once{0};
// Recorded sets are fed to a new engine this many times as fast as more are recorded.
constexpr size_t catching_up = 2;

// Returns why a join by this algorithm cannot run on a GPU; empty if it can.
std::string not_for_gpus(Algorithm algorithm) {
  if (!needs_cpu(algorithm)) return {};
  return "the algorithm " + std::string(algorithm_names[static_cast<int>(algorithm)]) + " runs on the CPU";
}

// Returns the engine of a user who asked for the CPU.
std::unique_ptr<JoinEngine> make_cpu_join(const JoinSpec &spec) {
  if (needs_gpu(spec.algorithm)) {
    throw Error(
        ErrorKind::invalid_argument,
        "the algorithm " + std::string(algorithm_names[static_cast<int>(spec.algorithm)]) + " runs on a GPU",
        "Set simjoin.device to auto or gpu, or simjoin.algorithm to auto.");
  }
  return make_cpu_engine(spec);
}

}  // namespace

std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) {
  if (spec.device == Device::cpu) return make_cpu_join(spec);
  return std::make_unique<FailoverEngine>(spec);
}

FailoverEngine::FailoverEngine(const JoinSpec &spec)
    : spec_(spec),
      vocabulary_(spec.self_join, memory_),
      rows_(spec.self_join),
      writer_(memory_),
      handed_over_(memory_),
      attempt_(spec.device, join_backend) {
  if (spec.device == Device::gpu) {
    const std::string reason = not_for_gpus(spec.algorithm);
    if (!reason.empty()) throw Error(ErrorKind::invalid_argument, reason, no_gpu_hint);
    std::string missing = no_gpu_reason();
    if (!missing.empty() || !join_backend()->available(missing)) throw_no_gpu(missing);
    engine_ = join_backend()->make_engine(spec);
    gpu_ = true;
    keeps_ = false;
    return;
  }
  std::string reason = no_gpu_reason();
  if (reason.empty()) reason = not_for_gpus(spec.algorithm);
  if (!reason.empty()) go_to_cpu(std::move(reason));
}

void FailoverEngine::set_type(TokenType type) {
  if (type_ && *type_ != type) {
    throw Error(ErrorKind::invalid_argument, "the sets of one join must have tokens of one type");
  }
  type_ = type;
}

void FailoverEngine::add(Side side, const SetSlice &rows) {
  refuse_weights(rows);
  if (direct_) return engine_->add(side, rows);
  if (rows.token_count > 0) set_type(rows.type);
  if (type_ != TokenType::text) {
    record(side, rows);
    return look_if_due();
  }
  for_each_set(rows, [&](const auto &set) {
    if constexpr (std::is_same_v<decltype(set), const PackedTexts &>) {
      add_texts(side, set);
    } else {
      add_texts(side, PackedTexts());  // the set is empty, and keeps its place among those of texts
    }
  });
}

// Texts are recorded as their numbers.
void FailoverEngine::add_texts(Side side, const PackedTexts &set) {
  if (direct_) return engine_->add(side, row_of(set));
  if (!feed_) feed_.emplace(thread_count(spec_.threads), spec_.memory_limit, memory_);
  feed_->add(side, set);
  if (!feed_->full()) return;
  feed_->submit(vocabulary_.texts());
  record_numbered(TextFeed::at_once);
  look_if_due();
}

// Records the sets of texts that are numbered by a time.
void FailoverEngine::record_numbered(TextFeed::Time until) {
  while (const std::unique_ptr<NumberedSets> sets = feed_->take(until)) {
    record(sets->side, {TokenType::int4, reinterpret_cast<const char *>(sets->numbers.data()),
                        sets->sizes.data(), static_cast<uint32_t>(sets->sizes.size()), sets->numbers.size()});
  }
}

// Records the sets of texts that are on their way. Returns false if some are left at a time.
bool FailoverEngine::record_all_texts(TextFeed::Time until) {
  if (!feed_) return true;
  feed_->submit(vocabulary_.texts());
  record_numbered(until);
  if (!feed_->all_taken()) return false;
  feed_.reset();
  return true;
}

void FailoverEngine::record(Side side, SetSlice rows) {
  rows_.add(side, rows, ended_);
  tokens_ += rows.token_count;
  rows_unseen_ += rows.rows;
  bytes_unseen_ += rows.token_bytes();
  while (rows.rows > 0) {
    SharedBlock full = writer_.append(side, rows);
    if (!full) continue;
    blocks_.push_back(std::move(full));
    if (gpu_) feed_block();
  }
}

void FailoverEngine::look_if_due() {
  if (rows_unseen_ >= rows_between_looks || bytes_unseen_ >= spec_.memory_limit / looks_per_limit) {
    look_around();
  }
}

// Now and then chooses the device, keeps to the memory limit, and lets a new engine catch up.
void FailoverEngine::look_around() {
  const size_t recorded = bytes_unseen_;
  rows_unseen_ = 0;
  bytes_unseen_ = 0;
  // Nothing is kept back for a GPU that cannot be there: the CPU would number texts once more.
  if (!std::exchange(looked_, true) && !engine_ && !join_backend()->has_driver()) go_to_cpu(no_gpu_driver);
  if (!engine_ && !start_.is_begun() && worth_a_gpu(spec_.rows_expected)) start_.is_done(at_once);
  if (!engine_ && worth_a_gpu() && start_.is_done(at_once)) try_gpu();
  keep_to_limit();
  if (!engine_) return;
  feed(catching_up * recorded);
  if (gpu_ || !blocks_.empty()) return;
  record_all_texts(TextFeed::ever);
  close_blocks();
  feed(SIZE_MAX);
  direct_ = true;
  vocabulary_.release();
}

// Leaves the sets to the CPU, which has a file for them, if keeping them takes too much memory.
void FailoverEngine::keep_to_limit() {
  const bool keeps = !engine_ || (gpu_ && keeps_);
  if (keeps && memory_.current() + writer_.open_bytes() > spec_.memory_limit) {
    go_to_cpu("half of simjoin.memory_limit does not hold the sets, which a join on a GPU keeps");
  }
}

// Feeds the engine about `bytes` bytes of blocks, at least one if any is left.
void FailoverEngine::feed(size_t bytes) {
  for (size_t fed = 0; fed_ < blocks_.size() && (fed == 0 || fed < bytes);) {
    fed += std::max<size_t>(1, blocks_[fed_]->bytes_used());
    feed_block();
  }
}

// Completes the open blocks.
void FailoverEngine::close_blocks() {
  for (Side side : {Side::left, Side::right}) {
    if (SharedBlock last = writer_.take_last(side)) blocks_.push_back(std::move(last));
  }
}

// Returns the milliseconds that a GPU which is set up is expected to save: for the sets so far, or for so
// many rows like them.
double FailoverEngine::saved_on_gpu(double rows) const {
  JoinLoad load;
  const double more = std::max(1.0, rows / static_cast<double>(std::max<uint64_t>(rows_.all(), 1)));
  for (size_t side = 0; side < 2; ++side) load.rows[side] = more * static_cast<double>(rows_[side]);
  load.tokens = more * static_cast<double>(tokens_);
  load.self_join = spec_.self_join;
  load.measure = spec_.measure;
  load.threshold = spec_.threshold;
  return cpu_join_ms(load, thread_count(spec_.threads)) - gpu_join_ms(load, slowdown_);
}

// Returns whether the algorithm needs a GPU, or a GPU is expected to save more than its start takes.
bool FailoverEngine::worth_a_gpu(double rows) const {
  if (needs_gpu(spec_.algorithm)) return true;
  return pays_for_gpu_start(saved_on_gpu(rows), *join_backend());
}

// Starts on the GPU, unless the GPU found does not pay yet.
void FailoverEngine::try_gpu() {
  std::string reason;
  if (!join_backend()->available(reason)) {
    go_to_cpu(std::move(reason));
    return;
  }
  slowdown_ = join_backend()->slowdown();
  if (!worth_a_gpu()) return;
  gpu_ = true;
  try {
    start_.check();
    JoinSpec spec = spec_;
    // That engine keeps the sets once more, on the CPU.
    if (spec.algorithm == Algorithm::cpu_gpu) spec.memory_limit = engine_share(spec.memory_limit);
    engine_ = join_backend()->make_engine(spec);
  } catch (const Error &error) {
    if (!leave_gpu(error)) throw;
  }
}

// From here on, recorded sets are fed block by block.
void FailoverEngine::go_to_cpu(std::string reason) {
  refused_ = std::move(reason);
  engine_.reset();
  gpu_ = false;
  fed_ = 0;
  JoinSpec spec = spec_;
  spec.memory_limit = engine_share_beside(spec.memory_limit, memory_.current());
  engine_ = make_cpu_engine(spec);
  gets_numbers_ = ended_;
  direct_ = !feed_ && rows_.all() == 0;
}

// Continues without the GPU after an error of the GPU. Returns false if the error is another, or if nothing
// was kept.
bool FailoverEngine::leave_gpu(const Error &error) {
  if (!gpu_ || spec_.device == Device::gpu) return false;  // the next join may try that GPU again
  if (!attempt_.leave_gpu(error) || !keeps_) return false;
  if (!handed_over_.empty())
    sorting_ =
        std::make_unique<BackgroundTask>(1, [this](WorkerPool &pool) { handed_over_.sort(pool.stop()); });
  go_to_cpu(error.what());
  return true;
}

// Hands the next block to the engine. On the CPU, the block is not needed afterwards.
void FailoverEngine::feed_block() {
  try {
    if (feeds_texts()) {
      feed_texts(*blocks_[fed_]);
    } else {
      engine_->add_block(blocks_[fed_]);
    }
    ++fed_;
  } catch (const Error &error) {
    if (!leave_gpu(error)) throw;
  }
  if (gpu_ && keeps_) return;
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(fed_));
  fed_ = 0;
}

// While sets come, the CPU's engine numbers texts by itself, since it can do so beside a file.
void FailoverEngine::feed_texts(const SetBlock &block) {
  for_each_integer_set(block.all(), [&](auto ids) {
    texts_.clear();
    for_each_token(ids, [&](auto id) { texts_.add(vocabulary_.text(static_cast<uint32_t>(id))); });
    const PackedTexts texts = texts_.texts();
    engine_->add(block.side(), row_of(texts));
  });
}

StepResult FailoverEngine::step(std::chrono::microseconds budget, Batch &out) {
  const auto until = std::chrono::steady_clock::now() + budget;
  if (!record_all_texts(until)) return StepResult::working;
  if (!std::exchange(ended_, true)) close_blocks();
  if (!feeds_texts()) vocabulary_.release();
  if (!engine_) {
    if (worth_a_gpu()) {
      if (!start_.is_done(budget)) return StepResult::working;
      try_gpu();
    }
    if (!engine_) {
      miss_on_gpu(saved_on_gpu());
      go_to_cpu(cpu_is_faster);
    }
  }
  while (fed_ < blocks_.size()) {
    feed_block();
    if (std::chrono::steady_clock::now() >= until) return StepResult::working;
  }
  vocabulary_.release();
  if (sorting_) {
    if (!sorting_->wait(budget)) return StepResult::working;
    sorting_.reset();
  }
  if (!gpu_) {
    const StepResult result = engine_->step(budget, out);
    if (result != StepResult::batch || handed_over_.empty()) return result;
    handed_over_.drop_from(out);
    return out.size() > 0 ? StepResult::batch : StepResult::working;
  }
  try {
    const StepResult result = engine_->step(budget, out);
    if (result == StepResult::batch) remember(out);
    return result;
  } catch (const Error &error) {
    if (!leave_gpu(error)) throw;
    return StepResult::working;
  }
}

// Notes the pairs that the caller gets, so that the CPU does not give them again. If they become too many,
// the join stays on the GPU in any case.
void FailoverEngine::remember(const Batch &batch) {
  if (!keeps_ || handed_over_.remember(batch, spec_.memory_limit)) return;
  blocks_.clear();
  fed_ = 0;
  keeps_ = false;
}

JoinStats FailoverEngine::stats() const {
  JoinStats stats;
  if (engine_) stats = engine_->stats();
  stats.memory_peak += memory_.peak();
  stats.gpu_refused = told_reason(refused_);
  // What is recorded is kept beside the engine.
  const size_t recorded = rows_.all() * sizeof(uint32_t) +
                          tokens_ * (type_ == TokenType::int8 ? sizeof(int64_t) : sizeof(int32_t));
  stats.one_part_limit += std::min(stats.one_part_limit, recorded);
  return stats;
}

}  // namespace simjoin
