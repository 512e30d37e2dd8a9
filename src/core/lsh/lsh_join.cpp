#include "core/lsh/lsh_join.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/added_rows.hpp"
#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/verify.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/engine_thread.hpp"
#include "core/handover/result_queue.hpp"
#include "core/handover/wanted_pairs.hpp"
#include "core/lsh/lsh_buckets.hpp"
#include "core/lsh/lsh_device.hpp"
#include "core/lsh/lsh_input.hpp"
#include "core/lsh/lsh_keys.hpp"
#include "core/lsh/lsh_loader.hpp"
#include "core/lsh/lsh_memory.hpp"
#include "core/lsh/lsh_rows.hpp"
#include "core/lsh/lsh_signer.hpp"

namespace simjoin {
namespace {

constexpr size_t queued_batches_per_thread = 4;
// What is done once the tokens have numbers, the rows are signed, and the sets are in order: estimates, since
// the lengths of sets, the hashes and the buckets decide.
constexpr double share_of_numbers = 0.05, share_of_signing = 0.4, share_before_bands = 0.45;
// Estimates of the memory of a join are too low by at most one part in this many.
constexpr size_t estimate_margin = 8;

class LshJoinOfSets final : public LshJoin {
 public:
  explicit LshJoinOfSets(const LshSpec &spec)
      : spec_(spec), rows_added_(spec.self_join), input_(spec, memory_), device_(spec) {}

  void add(Side side, const SetSlice &rows) override;
  bool wants_spill_file() const override {
    return !file_ && !thread_.is_open() && input_.peak_in_memory() > spec_.memory_limit;
  }
  void set_spill_file(int descriptor, uint64_t limit) override {
    input_.spill_to(file_.emplace(descriptor, limit, thread_.stop()));
  }
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override {
    return input_.sizes(static_cast<int>(side))[row];
  }
  JoinStats stats() const override;
  double share_done() const override { return share_.done(); }
  LshStats lsh_stats() const override;
  std::unique_ptr<Notice> take_notice() override { return std::move(notice_); }

 private:
  // The state of one thread, in cache lines of its own.
  struct alignas(64) Worker {
    Worker(LshJoinOfSets &join, WantedPairs *demand);

    ResultWriter writer;
    LshLoader held_rows[2];                    // of one held pair
    std::optional<LshWeights::Loaded> loaded;  // where pairs are verified by weights
    CandidateSink sink;
    uint64_t candidates = 0;
    JoinCounters counters;  // only of pairs left out
  };

  void start();
  void note_one_part_limit();
  void join(WorkerPool &pool);
  void join_bands(LshBuckets &buckets, WorkerPool &pool);
  void join_band(uint32_t band, LshKeys &keys, LshBuckets &buckets, WorkerPool &pool);
  void take(Worker &worker, const LshRow &l, const LshRow &r);
  void compare_held(Worker &worker, uint32_t l, uint32_t right);
  void compare(const LshRow &l, const LshRow &r, Worker &worker);
  void compare_weights(const LshRow &l, const LshRow &r, Worker &worker);
  // Converts a right row's number to its row on its side, or back.
  uint32_t row_of_right(uint32_t right) const { return spec_.self_join ? right : right + rows_->left_rows(); }
  uint32_t right_of_row(uint32_t row) const { return spec_.self_join ? row : row - rows_->left_rows(); }

  const LshSpec spec_;
  MemoryCounter memory_;
  std::optional<SpillFile> file_;
  AddedRows rows_added_;
  LshInput input_;
  LshDevice device_;
  std::optional<LshRows> rows_;
  LargeRows large_;
  std::vector<std::unique_ptr<Worker>> workers_;
  int threads_ = 0;
  WorkShare share_;
  mutable std::mutex mutex_;   // of what follows, which the caller may ask for while the join runs
  size_t one_part_limit_ = 0;  // of a join with a file: what it would have needed without
  LshStats stats_;             // set before the queue is finished
  uint32_t partitions_ = 0;
  std::unique_ptr<Notice> notice_;  // the caller's thread
  EngineThread thread_;
};

void LshJoinOfSets::add(Side side, const SetSlice &rows) {
  rows_added_.add(side, rows, thread_.is_open());
  if (rows_added_.all() >= UINT32_MAX)
    throw Error(ErrorKind::limit_exceeded, "a join by bands cannot have more than 4294967294 sets");
  input_.add(side, rows);
}

void LshJoinOfSets::start() {
  threads_ = thread_count(spec_.threads);
  input_.shrink_sizes();
  rows_.emplace(input_, spec_, file_ ? &*file_ : nullptr, memory_);
  const size_t values = size_t{rows_->rows()} * (spec_.verify ? 2 * spec_.plan.bands : spec_.permutations);
  if (!spec_.weighted) device_.choose(input_.hashed_tokens(), values, threads_);
  if (file_ && !spec_.weighted) note_one_part_limit();
  thread_.open_queue(queued_batches_per_thread * static_cast<size_t>(threads_));
  thread_.start([this] {
    WorkerPool pool(threads_, thread_.stop());
    pool.count_in(&share_);
    join(pool);
    share_.end();
  });
}

// Notes which limit the join would have needed without its file.
void LshJoinOfSets::note_one_part_limit() {
  const size_t peak = input_.peak_in_memory();
  const std::lock_guard lock(mutex_);
  one_part_limit_ = peak + peak / estimate_margin;
}

void LshJoinOfSets::join(WorkerPool &pool) {
  share_.begin_stage(share_of_numbers);
  input_.number(pool);
  {
    LshSigner signer(spec_, device_);
    rows_->build(signer, pool, [this](double share) {
      share_.begin_stage(share_of_numbers + (share_of_signing - share_of_numbers) * share);
    });
  }
  if (file_ && spec_.weighted) note_one_part_limit();
  std::optional<WantedPairs> demand;
  if (spec_.done_rows != nullptr)
    demand.emplace(*spec_.done_rows, spec_.self_join, false, rows_->left_rows(), memory_);
  for (int worker = 0; worker < threads_; ++worker)
    workers_.push_back(std::make_unique<Worker>(*this, demand ? &*demand : nullptr));
  LshBuckets buckets(
      *rows_, spec_, threads_, lsh_memory::loaded_bytes(spec_, threads_), large_,
      [this](int worker, const LshRow &l, const LshRow &r) {
        take(*workers_[static_cast<size_t>(worker)], l, r);
      },
      memory_);
  join_bands(buckets, pool);
  LshStats stats = buckets.stats();
  for (const std::unique_ptr<Worker> &worker : workers_) {
    stats.candidates += worker->candidates;
    stats.left_out += worker->counters.left_out;
    stats.output += worker->writer.emitted();
  }
  workers_.clear();
  const std::lock_guard lock(mutex_);
  stats_ = stats;
}

LshJoinOfSets::Worker::Worker(LshJoinOfSets &join, WantedPairs *demand)
    : writer(join.thread_.queue(), false, join.spec_.self_join, demand),
      held_rows{LshLoader(*join.rows_, lsh_memory::loaded_bytes(join.spec_, join.threads_), join.memory_),
                LshLoader(*join.rows_, lsh_memory::loaded_bytes(join.spec_, join.threads_), join.memory_)},
      sink(
          writer, nullptr, nullptr,
          [&join, this](uint32_t l, uint32_t right, JoinCounters &) { join.compare_held(*this, l, right); },
          join.thread_.stop(), join.memory_) {
  if (join.spec_.weighted && join.spec_.verify) loaded.emplace(join.memory_);
}

// Hands over the similar pairs band by band, each in the first band in which it shares a bucket.
void LshJoinOfSets::join_bands(LshBuckets &buckets, WorkerPool &pool) {
  LshKeys keys(*rows_, file_ ? lsh_memory::keys_at_a_time(spec_) : UINT32_MAX, device_, memory_);
  for (uint32_t band = 0; band < spec_.plan.bands; ++band) {
    share_.begin_stage(share_before_bands + (1 - share_before_bands) * (band + 1) / spec_.plan.bands);
    join_band(band, keys, buckets, pool);
    buckets.end_band();
    for (const std::unique_ptr<Worker> &worker : workers_) {
      worker->sink.settle(worker->counters);
      worker->writer.flush();
    }
  }
}

void LshJoinOfSets::join_band(uint32_t band, LshKeys &keys, LshBuckets &buckets, WorkerPool &pool) {
  const std::vector<LshKeys::Range> ranges = keys.ranges(band, pool);
  for (const LshKeys::Range &range : ranges) {
    if (keys.is_too_large(range) && buckets.is_chained(range.rows)) {
      buckets.visit_large(keys, range, pool);
      continue;
    }
    buckets.visit_keys(keys.sorted(band, range, pool), pool);
  }
  const std::lock_guard lock(mutex_);
  if (file_) partitions_ = std::max(partitions_, static_cast<uint32_t>(ranges.size()));
}

// Compares a candidate pair, now or later, if it is wanted.
void LshJoinOfSets::take(Worker &worker, const LshRow &l, const LshRow &r) {
  ++worker.candidates;
  if (worker.sink.wants(l.number, right_of_row(r.number), worker.counters)) compare(l, r, worker);
}

// Compares a pair that was held: its rows may be in the file.
void LshJoinOfSets::compare_held(Worker &worker, uint32_t l, uint32_t right) {
  const SortKey keys[2] = {{l, 0}, {row_of_right(right), 0}};
  std::unique_lock lock(large_, std::defer_lock);
  if (worker.held_rows[0].any_large(keys)) lock.lock();
  for (int i = 0; i < 2; ++i) worker.held_rows[i].load({&keys[i], 1});
  compare(worker.held_rows[0].rows()[0], worker.held_rows[1].rows()[0], worker);
  for (LshLoader &loader : worker.held_rows) loader.forget_large();
}

// Hands the pair over if it is similar enough, or is not to be verified.
void LshJoinOfSets::compare(const LshRow &l, const LshRow &r, Worker &worker) {
  if (worker.loaded) return compare_weights(l, r, worker);
  CandidateSink &sink = worker.sink;
  const uint32_t right = right_of_row(r.number);
  if (!spec_.verify) {
    uint32_t common = 0;
    for (uint32_t i = 0; i < spec_.permutations; ++i) common += l.words[i] == r.words[i];
    return sink.emit(l.number, right, common);
  }
  const auto required =
      static_cast<uint64_t>(Bounds(spec_.measure, spec_.threshold).min_overlap(l.size, r.size));
  if (required > std::min(l.size, r.size)) return;
  const auto overlap_of = [&](const auto *l_numbers, const auto *r_numbers) {
    return bounded_overlap(l_numbers, l.size, r_numbers, r.size, 0, static_cast<uint32_t>(required));
  };
  const uint32_t overlap = input_.wide() ? overlap_of(reinterpret_cast<const uint64_t *>(l.words),
                                                      reinterpret_cast<const uint64_t *>(r.words))
                                         : overlap_of(l.words, r.words);
  if (overlap >= required) sink.emit(l.number, right, overlap);
}

// The same by the weights of the sets, which may be in the file.
void LshJoinOfSets::compare_weights(const LshRow &l, const LshRow &r, Worker &worker) {
  const LshWeights &weights = *input_.weights();
  const size_t bytes = weights.loaded_bytes(uint64_t{l.size} + r.size);
  std::unique_lock lock(large_, std::defer_lock);
  const bool large = bytes > lsh_memory::loaded_bytes(spec_, threads_);
  if (large) lock.lock();
  const double similarity = weights.similarity(l.number, r.number, *worker.loaded, thread_.stop());
  if (large) worker.loaded.emplace(memory_);
  if (similarity >= spec_.threshold)
    worker.sink.emit_similarity(l.number, right_of_row(r.number), similarity);
}

StepResult LshJoinOfSets::step(std::chrono::microseconds budget, Batch &out) {
  if (!thread_.is_open()) {
    if (!input_.end_sets(std::chrono::steady_clock::now() + budget)) return StepResult::working;
    start();
  }
  const auto look_at_gpu = [this] {
    if (std::unique_ptr<Notice> notice = device_.take_notice()) notice_ = std::move(notice);
  };
  try {
    const StepResult result = thread_.pop(budget, out);
    look_at_gpu();
    return result;
  } catch (...) {
    look_at_gpu();
    throw;
  }
}

JoinStats LshJoinOfSets::stats() const {
  JoinStats stats;
  for (int side = 0; side < 2; ++side) {
    const SetSizes &sizes = input_.sizes(side);
    stats.sets[side] = sizes.filled();
    stats.tokens[side] = sizes.tokens();
  }
  const std::lock_guard lock(mutex_);
  stats.verified = spec_.verify ? stats_.candidates - stats_.left_out : 0;
  stats.left_out = stats_.left_out;
  stats.output = stats_.output;
  stats.memory_peak = memory_.peak();
  stats.threads = threads_;
  stats.algorithm = "minhash";
  stats.spilled_bytes = file_ ? file_->written() : 0;
  stats.partitions = partitions_;
  stats.one_part_limit = one_part_limit_;
  if (!spec_.weighted)
    device_.add_to(stats);
  else if (spec_.device != Device::cpu)
    stats.gpu_refused = "joins of sets with weights by bands run on the CPU";
  return stats;
}

LshStats LshJoinOfSets::lsh_stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace

std::unique_ptr<LshJoin> make_lsh_join(const LshSpec &spec) {
  return std::make_unique<LshJoinOfSets>(spec);
}

}  // namespace simjoin
