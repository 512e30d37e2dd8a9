#include "core/weighted/weighted_join.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/added_rows.hpp"
#include "core/base/error.hpp"
#include "core/base/peak_estimate.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/wall_clock.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/handover/engine_thread.hpp"
#include "core/set_slices.hpp"
#include "core/weighted/weighted_choice.hpp"
#include "core/weighted/weighted_device.hpp"
#include "core/weighted/weighted_input.hpp"
#include "core/weighted/weighted_workers.hpp"

namespace simjoin {
namespace {

constexpr size_t queued_batches_per_thread = 4;
// A join of fewer tokens has one thread: starting others would take longer.
constexpr size_t tokens_of_one_thread = 20000;
// A block of sets takes a part of the limit for each worker. While its sets are ranked, it takes five times
// that.
constexpr size_t blocks_per_limit = 32;
constexpr size_t least_block_bytes = size_t{1} << 10, most_block_bytes = size_t{1} << 20;
constexpr size_t copies_of_block = 8;
// With a file, the numbering of tokens may take this much even if the limit is smaller.
constexpr size_t least_vocabulary_bytes = size_t{256} << 10;
// The data that a join always needs may leave too little of the limit. A part of the index side has this
// share of it in any case.
constexpr size_t least_part_share = 2;
// The bytes of a set while the sets get their order.
constexpr size_t ordered_bytes = 48;

// What is done once the tokens are ranked, and once the sets are.
constexpr double share_of_ranking = 0.04, share_of_sets = 0.07;
// What ordering and indexing take of a part of the index side.
constexpr double building_part = 0.125;

// Returns what is done once so many of all sets have been searched.
double searched(size_t done, size_t all) {
  return share_before_search +
         (1 - share_before_search) * static_cast<double>(done) / static_cast<double>(all);
}

size_t block_bytes(const JoinSpec &spec) {
  const size_t blocks = blocks_per_limit * static_cast<size_t>(thread_count(spec.threads));
  return std::clamp(spec.memory_limit / blocks, least_block_bytes, most_block_bytes);
}

class WeightedJoin final : public JoinEngine {
 public:
  explicit WeightedJoin(const JoinSpec &spec)
      : spec_(spec),
        device_(spec.device, join_backend),
        rows_(spec.self_join),
        input_(spec.measure, spec.self_join, block_bytes(spec), thread_count(spec.threads), spec.memory_limit,
               memory_, spec.by_rarity) {}
  ~WeightedJoin() override { thread_.end(); }

  void add(Side side, const SetSlice &rows) override;
  void add_copies(uint32_t row, uint32_t copies) override;
  bool wants_spill_file() const override {
    return !file_ && !thread_.is_open() && peak_.bytes() > spec_.memory_limit;
  }
  void set_spill_file(int descriptor, uint64_t limit) override;
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override {
    return input_.sizes(static_cast<int>(side))[row];
  }
  JoinStats stats() const override;
  double share_done() const override { return share_.done(); }
  std::unique_ptr<Notice> take_notice() override { return device_.take_notice(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Blocks = std::vector<WeightedBlock>;

  // What the search of ranked sets needs.
  struct Search {
    const WeightedBounds &bounds;
    uint32_t ranks;
    WeightedWorkers &workers;
    WorkerPool &pool;
    Clock::time_point begun;  // the ranking
  };

  size_t peak_in_memory(uint64_t distinct, size_t ranking) const;
  void estimate_peak();
  void start();
  void join(WorkerPool &pool);
  size_t end_of_part(const Blocks &blocks, size_t first, uint32_t ranks, size_t workers) const;
  void note_part(Clock::time_point begun);
  void join_in_memory(const WeightedSets &sets, Blocks &probe_blocks, const Search &search);
  uint32_t search_on_gpu(const WeightedSets &sets, const WeightedSets &probes, const Search &search);
  void count(const WeightedFinds &finds);
  void count(const JoinCounters &counters, uint64_t compatible);

  EngineThread thread_;
  const JoinSpec spec_;
  GpuAttempt device_;
  MemoryCounter memory_;
  std::optional<SpillFile> file_;
  AddedRows rows_;
  WeightedInput input_;
  PeakEstimate peak_;  // of the join in memory
  WorkShare share_;
  mutable std::mutex mutex_;  // of what follows, which the caller may ask for while the join runs
  JoinStats figures_;
  JoinCounters counters_;
  std::atomic<int64_t> built_{0}, done_{0};  // Clock ticks at the end of the build, and at the last pair
};

void WeightedJoin::add(Side side, const SetSlice &rows) {
  rows_.add(side, rows, thread_.is_open());
  if (spec_.by_rarity) {
    refuse_weights(rows);
    for_each_set(rows, [&](const auto &set) { input_.add(side, set); });
  } else {
    for_each_weighted_set(
        rows, [&](const auto &set, std::span<const double> weights) { input_.add(side, set, weights); });
  }
  if (!file_) estimate_peak();
}

void WeightedJoin::add_copies(uint32_t row, uint32_t copies) {
  if (!spec_.by_rarity) return JoinEngine::add_copies(row, copies);
  input_.add_copies(row, copies);
}

// Returns about the bytes that the join of the sets so far takes without a file: `ranking` while their
// `distinct` tokens are ranked, and then while the sets are put in order or are searched.
size_t WeightedJoin::peak_in_memory(uint64_t distinct, size_t ranking) const {
  const uint64_t tokens = input_.tokens(0) + input_.tokens(1);
  const uint64_t sets = uint64_t{input_.rows(0)} + input_.rows(1);
  const size_t ranked = WeightedSets::bytes(input_.format(), sets, tokens);
  if (spec_.by_rarity) ranking += distinct * sizeof(uint32_t);
  const size_t ordering = 2 * ranked + sets * ordered_bytes + distinct * sizeof(uint32_t);
  const size_t searching = ranked + WeightedIndex::bytes(tokens, distinct) +
                           WeightedSearch::bytes(sets) * static_cast<size_t>(thread_count(spec_.threads));
  return std::max({ranking, ordering, searching});
}

// Now and then estimates the bytes that the join of the sets so far would take.
void WeightedJoin::estimate_peak() {
  const uint64_t size = input_.tokens(0) + input_.tokens(1) + input_.rows(0) + input_.rows(1);
  peak_.update(size, [&] {
    return peak_in_memory(input_.distinct_tokens(), memory_.current() + input_.ranking_bytes());
  });
}

void WeightedJoin::set_spill_file(int descriptor, uint64_t limit) {
  input_.spill_to(file_.emplace(descriptor, limit, thread_.stop()),
                  std::max(spec_.memory_limit / 4, least_vocabulary_bytes));
}

void WeightedJoin::start() {
  const uint64_t tokens = input_.tokens(0) + input_.tokens(1);
  const int threads = tokens < tokens_of_one_thread ? 1 : thread_count(spec_.threads);
  for (int side = 0; side < 2; ++side) {
    figures_.sets[side] = input_.sizes(side).filled();
    figures_.tokens[side] = input_.tokens(side);
  }
  const uint64_t left = input_.rows(0), right = input_.rows(1);
  figures_.pairs = spec_.self_join ? left * (left - (left > 0)) / 2 : left * right;
  figures_.threads = threads;
  figures_.algorithm = spec_.threshold <= 0 ? "all pairs" : weighted_algorithm;
  thread_.open_queue(queued_batches_per_thread * static_cast<size_t>(threads));
  thread_.start([this, threads] {
    WorkerPool pool(threads, thread_.stop());
    pool.count_in(&share_);
    join(pool);
    share_.end();
    done_ = Clock::now().time_since_epoch().count();
  });
}

// Ranks the sets, and joins the index side part by part with all sets of the other one.
void WeightedJoin::join(WorkerPool &pool) {
  const auto begun = Clock::now();
  const WeightedBounds bounds(spec_.measure, spec_.threshold, spec_.self_join, input_.largest_set());
  const int index_side = spec_.self_join || input_.tokens(0) <= input_.tokens(1) ? 0 : 1;
  share_.begin_stage(share_of_ranking);
  Ranking ranking = input_.take_ranking(spec_.memory_limit / 4, pool);
  share_.begin_stage(share_of_sets);
  Blocks index_blocks = input_.take_sets(index_side, ranking, bounds, pool);
  Blocks probe_blocks;
  if (!spec_.self_join) probe_blocks = input_.take_sets(1 - index_side, ranking, bounds, pool);
  ranking.rank_of.release();
  input_.release_rarity();
  std::optional<WantedPairs> demand;
  if (spec_.done_rows != nullptr)
    demand.emplace(*spec_.done_rows, spec_.self_join, false, input_.rows(0), memory_);
  WeightedWorkers workers(
      bounds, spec_.self_join, index_side == 0 && !spec_.self_join, demand ? &*demand : nullptr,
      thread_.queue(), pool, memory_,
      [this](const JoinCounters &counters, uint64_t compatible) { count(counters, compatible); });
  {
    const std::lock_guard lock(mutex_);
    figures_.distinct_tokens = ranking.distinct;
    figures_.threads = pool.workers();
    figures_.order_ms = milliseconds_since(begun);
    figures_.used_prefix = !bounds.every_pair();
    if (file_) {
      const size_t peak = peak_in_memory(input_.ranked().distinct, input_.ranked_bytes());
      figures_.spilled_bytes = file_->written();
      figures_.one_part_limit = PeakEstimate::limit_for(peak);
    }
  }
  const Search search = {bounds, ranking.ranks, workers, pool, begun};
  if (file_ && spec_.device != Device::cpu) device_.refuse("the sets exceed simjoin.memory_limit");
  for (size_t first = 0, end; first < index_blocks.size() && !bounds.no_pair(); first = end) {
    end = file_ ? end_of_part(index_blocks, first, ranking.ranks, static_cast<size_t>(pool.workers()))
                : index_blocks.size();
    const double before = searched(first, index_blocks.size()), after = searched(end, index_blocks.size());
    share_.begin_stage(file_ ? before + building_part * (after - before) : share_before_search);
    const WeightedSets sets =
        order_by_total(index_blocks, first, end, file_ ? &*file_ : nullptr, pool, memory_);
    if (file_) {
      const WeightedIndex index(sets, bounds, ranking.ranks, pool, memory_);
      share_.begin_stage(after, true);
      note_part(begun);
      workers.join(index, spec_.self_join ? index_blocks : probe_blocks, &*file_);
    } else {
      join_in_memory(sets, probe_blocks, search);
    }
  }
  workers.flush();
}

// Notes that the next part of the index side is ready to be searched.
void WeightedJoin::note_part(Clock::time_point begun) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (built_ == 0) {
    built_ = now.time_since_epoch().count();
    figures_.build_ms = milliseconds(now - begun);
  }
  if (file_) ++figures_.partitions;
}

// Joins all sets of the index side with all others, or with themselves in a self-join. If a GPU is chosen but
// fails, the CPU goes on with the probes that have not had their turn.
void WeightedJoin::join_in_memory(const WeightedSets &sets, Blocks &probe_blocks, const Search &search) {
  const WeightedLoad load = {sets, spec_.self_join ? nullptr : &probe_blocks, search.ranks,
                             input_.largest_set()};
  std::optional<WeightedSets> ordered;
  uint32_t done = 0;
  if (choose_device(device_, load, search.bounds, search.pool, memory_)) {
    if (!spec_.self_join && !probe_blocks.empty())
      ordered.emplace(order_by_total(probe_blocks, 0, probe_blocks.size(), nullptr, search.pool, memory_));
    const WeightedSets &probes = ordered ? *ordered : sets;
    note_part(search.begun);
    done = search_on_gpu(sets, probes, search);
    if (done == probes.sets()) return;
  }
  const WeightedIndex index(sets, search.bounds, search.ranks, search.pool, memory_);
  share_.begin_stage(1, true);
  note_part(search.begun);
  if (spec_.self_join || ordered) {
    search.workers.join(index, ordered ? *ordered : sets, done);
  } else {
    search.workers.join(index, probe_blocks, nullptr);
  }
}

// Returns the end of the probes whose pairs have been found: it is not that of all probes if the GPU fails.
uint32_t WeightedJoin::search_on_gpu(const WeightedSets &sets, const WeightedSets &probes,
                                     const Search &search) {
  uint32_t done = 0;
  const WeightedProblem problem = {sets,
                                   probes,
                                   search.bounds,
                                   spec_.self_join,
                                   search.ranks,
                                   input_.largest_set(),
                                   spec_.gpu_memory_limit,
                                   search.pool,
                                   memory_};
  const auto take = [&](const WeightedFinds &finds) {
    share_.begin_stage(searched(finds.end, probes.sets()));
    search.workers.verify(probes, sets, finds.pairs);
    done = finds.end;
    count(finds);
  };
  device_.run([&](GpuBackend &gpu) { gpu.weighted()->find(problem, take); },
              [&] {
                const std::lock_guard lock(mutex_);
                figures_.device = "cpu";
                figures_.device_memory_peak = 0;
              });
  return done;
}

// Adds the figures of a GPU. It compares all candidates, so they all count as verified.
void WeightedJoin::count(const WeightedFinds &finds) {
  JoinCounters counters;
  counters.after_prefix = counters.after_positional = counters.after_bitmap = counters.verified =
      finds.candidates;
  count(counters, finds.compatible);
  const std::lock_guard lock(mutex_);
  figures_.filter_ms += finds.kernel_ms;
  figures_.device = finds.device;
  figures_.device_memory_peak = finds.memory_peak;
}

void WeightedJoin::count(const JoinCounters &counters, uint64_t compatible) {
  const std::lock_guard lock(mutex_);
  counters_ += counters;
  figures_.after_length += compatible;
}

// Returns the end of the next part of the index side: as many blocks as the limit has room for.
size_t WeightedJoin::end_of_part(const Blocks &blocks, size_t first, uint32_t ranks, size_t workers) const {
  const size_t always = memory_.current() +
                        workers * (copies_of_block * block_bytes(spec_) + WeightedSearch::bytes(0)) +
                        WeightedIndex::bytes(0, ranks);
  const size_t room = std::max(spec_.memory_limit - std::min(spec_.memory_limit, always),
                               spec_.memory_limit / least_part_share);
  size_t bytes = 0, end = first;
  for (; end < blocks.size(); ++end) {
    const WeightedBlock &block = blocks[end];
    bytes += WeightedSets::bytes(input_.format(), block.count, block.tokens) +
             std::max(WeightedIndex::bytes(block.postings, 0) + workers * block.count * sizeof(uint32_t),
                      block.count * ordered_bytes);
    if (end > first && bytes > room) break;
  }
  return end;
}

StepResult WeightedJoin::step(std::chrono::microseconds budget, Batch &out) {
  if (!thread_.is_open()) {
    if (!input_.end_sets(Clock::now() + budget)) return StepResult::working;
    start();
  }
  return thread_.pop(budget, out);
}

JoinStats WeightedJoin::stats() const {
  const std::lock_guard lock(mutex_);
  JoinStats stats = figures_;
  stats.PairCounts::operator+=(counters_);
  stats.filter_ms += milliseconds(counters_.filter);
  stats.verify_ms = milliseconds(counters_.verify);
  stats.memory_peak = memory_.peak();
  stats.gpu_refused = told_reason(device_.outcome().refused);
  const int64_t built = built_, done = done_;
  if (built != 0) {
    const auto end = done != 0 ? Clock::duration(done) : Clock::now().time_since_epoch();
    stats.join_ms = milliseconds(end - Clock::duration(built));
  }
  return stats;
}

}  // namespace

std::unique_ptr<JoinEngine> make_weighted_join(const JoinSpec &spec) {
  if (spec.measure != Measure::jaccard && spec.measure != Measure::cosine)
    throw Error(ErrorKind::internal, "a weighted join has no such measure");
  return std::make_unique<WeightedJoin>(spec);
}

}  // namespace simjoin
