// The engine for CPU cores: takes sets, runs the join on threads of its own, hands batches to the caller.
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "core/added_rows.hpp"
#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/base/peak_estimate.hpp"
#include "core/base/spill_file.hpp"
#include "core/base/wall_clock.hpp"
#include "core/base/worker_pool.hpp"
#include "core/candidates/pair_verifier.hpp"
#include "core/engine/join_execution.hpp"
#include "core/handover/engine_thread.hpp"
#include "core/handover/result_queue.hpp"
#include "core/join.hpp"
#include "core/rounds/beyond_memory/round_memory.hpp"
#include "core/sets/join_tokens.hpp"
#include "core/sets/raw_sets.hpp"
#include "core/sets/set_blocks.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {
namespace {

// A join of fewer tokens runs within the caller's thread: starting threads would take longer.
constexpr size_t inline_tokens = 20000;
// If pairs may be left out and there may be more than this, the engine runs beside its caller, who tells
// meanwhile which rows are done. Handing over so many pairs takes longer than starting threads.
constexpr uint64_t inline_pairs = uint64_t{1} << 18;
constexpr size_t queued_batches_per_thread = 4;
// The blocks of a side that are smaller than the others take this many times the size of those, at most.
constexpr size_t first_blocks = 8;
// With a file, the numbering of tokens may take this much even if the limit is smaller.
constexpr size_t least_vocabulary_bytes = size_t{256} << 10;

size_t block_bytes(const JoinSpec &spec) {
  return RawSets::block_bytes(spec.memory_limit, thread_count(spec.threads));
}

class CpuEngine final : public JoinEngine {
 public:
  // `verifier` may be null.
  CpuEngine(const JoinSpec &spec, std::unique_ptr<PairVerifier> verifier)
      : spec_(with_measure_of_pairs(spec)),
        most_threads_(thread_count(spec.threads)),
        tokens_(spec.self_join, memory_),
        sides_{RawSets(block_bytes(spec), memory_), RawSets(block_bytes(spec), memory_)},
        rows_(spec.self_join),
        postings_{PrefixPostings(Bounds(spec_.measure, spec_.threshold), spec.self_join),
                  PrefixPostings(Bounds(spec_.measure, spec_.threshold).reversed(), spec.self_join)},
        verifier_(std::move(verifier)) {}

  ~CpuEngine() override { thread_.end(); }

  void add(Side side, const SetSlice &rows) override;
  void add_block(SharedBlock block) override { add(block->side(), block->all()); }
  bool wants_spill_file() const override {
    return !file_ && !execution_ && peak_.bytes() > spec_.memory_limit;
  }
  void set_spill_file(int descriptor, uint64_t limit) override;
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override {
    SIMJOIN_CHECK(row < sides_[static_cast<int>(side)].sizes.size());
    return sides_[static_cast<int>(side)].sizes[row];
  }
  JoinStats stats() const override;
  double share_done() const override { return execution_ ? execution_->share_done() : 0; }

 private:
  using Clock = std::chrono::steady_clock;

  template <typename T>
  void place_set(Side side, std::span<const T> tokens);
  uint64_t tokens() const { return (sides_[0].tokens() + sides_[1].tokens()) / tokens_.ids_per_token(); }
  TextInput text_input();
  bool fits_inline() const;
  RoundShape shape();
  size_t kept_ids(size_t small) const;
  size_t peak_in_memory(RoundShape shape, uint64_t distinct, size_t ranking, size_t free) const;
  size_t one_part_limit();
  void estimate_peak();
  size_t vocabulary_bytes() const { return std::max(spec_.memory_limit / 4, least_vocabulary_bytes); }
  void start();
  void run_on_threads();
  void run_inline(std::chrono::microseconds budget);
  void end_join();

  EngineThread thread_;  // not started for an inline join
  const JoinSpec spec_;
  const int most_threads_;
  MemoryCounter memory_;
  std::optional<SpillFile> file_;
  JoinTokens tokens_;
  RawSets sides_[2];
  AddedRows rows_;              // some of which tokens_ may still have
  PrefixPostings postings_[2];  // by side, if it were indexed
  PeakEstimate peak_;           // of the join in memory
  bool had_texts_ = false;
  std::atomic<int> threads_{0};
  std::optional<JoinExecution> execution_;
  std::unique_ptr<PairVerifier> verifier_;  // destroyed before the members that it refers to
  std::optional<WorkerPool> pool_;          // of an inline join
  size_t next_item_ = 0;                    // of an inline join
  bool ended_ = false;                      // of an inline join
  std::atomic<int64_t> built_{0};           // Clock ticks at the end of the build, and at the last pair
  std::atomic<int64_t> done_{0};
  std::atomic<size_t> one_part_limit_{0};  // of a join with a file: the limit that would need none
};

void CpuEngine::add(Side side, const SetSlice &rows) {
  refuse_weights(rows);
  rows_.add(side, rows, execution_.has_value());
  if (rows.type == TokenType::int4 && !file_ && !tokens_.feeds_texts()) {
    const std::span values(reinterpret_cast<const int32_t *>(rows.tokens), rows.token_count);
    tokens_.add_rows(side, values, {rows.lengths, rows.rows}, sides_);
  } else {
    for_each_set(rows, [&](const auto &set) {
      if (tokens_.takes_as_texts(set)) {
        had_texts_ = true;
        return tokens_.add_texts(side, texts_of(set), text_input());
      }
      place_set(side, integers_of(set));
    });
  }
  if (!file_) estimate_peak();
}

template <typename T>
void CpuEngine::place_set(Side side, std::span<const T> tokens) {
  tokens_.add_row(side, tokens, sides_, file_ ? &*file_ : nullptr, vocabulary_bytes());
}

TextInput CpuEngine::text_input() {
  return {sides_[0],         sides_[1], most_threads_, spec_.memory_limit, file_ ? &*file_ : nullptr,
          vocabulary_bytes()};
}

// Returns whether the join is too small for threads.
bool CpuEngine::fits_inline() const {
  if (file_ || tokens() >= inline_tokens) return false;
  const uint64_t left = sides_[0].rows(), right = sides_[spec_.self_join ? 0 : 1].rows();
  return spec_.done_rows == nullptr || left * right <= inline_pairs;
}

// Returns what has been added so far, but for ranks. The side with fewer tokens would be indexed.
RoundShape CpuEngine::shape() {
  RoundShape shape;
  for (int side = 0; side < 2; ++side) {
    shape.sets += sides_[side].rows();
    postings_[side].update(sides_[side].sizes);
  }
  shape.tokens = tokens();
  const int index = spec_.self_join || sides_[0].tokens() <= sides_[1].tokens() ? 0 : 1;
  const int probe = spec_.self_join ? index : 1 - index;
  shape.index_sets = sides_[index].rows();
  shape.postings = postings_[index].postings();
  const Bounds bounds(spec_.measure, spec_.threshold);
  shape.counts = spec_.algorithm != Algorithm::automatic || !(spec_.threshold > 0) ||
                 !sweeps_all(index == 0 ? bounds : bounds.reversed(), sides_[index].sizes.largest(),
                             sides_[probe].sizes.largest());
  return shape;
}

// Returns the bytes of ids that are kept while sets are ordered, where `small` bytes of them are in small
// blocks.
size_t CpuEngine::kept_ids(size_t small) const {
  const size_t classes = postings_[0].classes() + postings_[1].classes();
  return small + ordering_room(classes, most_threads_) + 2 * RawSets::most_block_bytes;
}

// Estimates the bytes of a join in memory of sets of this shape with `distinct` different tokens. Ranking
// them takes `ranking` bytes, and blocks have `free` ones.
size_t CpuEngine::peak_in_memory(RoundShape shape, uint64_t distinct, size_t ranking, size_t free) const {
  shape.ranks = std::min(shape.tokens, distinct);
  const size_t sizes = sides_[0].sizes.bytes() + sides_[1].sizes.bytes();
  const RoundBytes round = estimated_round_bytes(spec_, shape, 0, most_threads_);
  return std::max(ranking, sizes + std::max({round.ordering + free, round.building, round.joining}));
}

// Now and then estimates the bytes that the join of the sets so far would take.
void CpuEngine::estimate_peak() {
  uint64_t size = 0;
  for (const RawSets &side : sides_) size += side.rows() + side.tokens();
  peak_.update(size, [&] {
    RoundShape shape = this->shape();
    size_t small = 0, free = 0;
    for (const RawSets &side : sides_) {
      for (const RawBlock &block : side.blocks) {
        if (mapped_bytes(block) == 0) small += block.ids.size() * sizeof(uint32_t);
      }
      if (!side.blocks.empty()) {
        const RawBlock &last = side.blocks.back();
        free += (last.ids.size() - last.tokens) * sizeof(uint32_t);
      }
    }
    shape.kept_ids = kept_ids(small);
    return peak_in_memory(shape, tokens_.distinct_tokens(),
                          memory_.current() + tokens_.ranking_bytes(shape.tokens), free);
  });
}

// Returns the memory limit with which the join would have needed no file, once its tokens are ranked.
size_t CpuEngine::one_part_limit() {
  RoundShape shape = this->shape();
  const JoinTokens::InMemory &tokens = tokens_.ranked();
  const size_t sides = spec_.self_join ? 1 : 2, ids = shape.tokens * sizeof(uint32_t);
  const size_t free = sides * std::min(ids, RawSets::most_block_bytes);  // in the last blocks
  const size_t sets = ids + free + sides_[0].sizes.bytes() + sides_[1].sizes.bytes();
  const auto limit_with = [&](size_t kept) {
    shape.kept_ids = kept;
    return PeakEstimate::limit_for(
        peak_in_memory(shape, tokens.distinct, sets + tokens.numbering + tokens.ranking, free));
  };
  // The first blocks are small. All are if the limit is, or if other threads make them of texts.
  const size_t limit = limit_with(kept_ids(sides * first_blocks * RawSets::most_block_bytes));
  const bool large = RawSets::block_bytes(limit, most_threads_) == RawSets::most_block_bytes;
  return large && !had_texts_ ? limit : limit_with(ids);
}

void CpuEngine::set_spill_file(int descriptor, uint64_t limit) {
  SIMJOIN_CHECK(!file_ && !execution_);  // at most once, before the first step
  file_.emplace(descriptor, limit, thread_.stop());
  if (tokens_.ids_per_token() > 1) {
    tokens_.end_waiting(sides_, *file_,
                        [this](Side side, std::span<const int64_t> tokens) { place_set(side, tokens); });
    return;
  }
  for (RawSets &side : sides_) side.spill_to(*file_);
}

void CpuEngine::start() {
  SIMJOIN_CHECK(!execution_ && !tokens_.feeds_texts());  // all texts have numbers
  for (RawSets &side : sides_) side.sizes.shrink();
  const bool run_here = fits_inline();
  threads_ = run_here ? 1 : most_threads_;
  const size_t capacity = run_here ? 0 : queued_batches_per_thread * static_cast<size_t>(threads_);
  ResultQueue &queue = thread_.open_queue(capacity);
  SpillFile *file = file_ ? &*file_ : nullptr;
  execution_.emplace(spec_, tokens_, sides_[0], sides_[1], file, verifier_.get(), queue, thread_.stop(),
                     memory_);
  if (run_here) {
    pool_.emplace(1, thread_.stop());
    execution_->build(*pool_);
    ended_ = !execution_->next_round(*pool_);
    built_ = Clock::now().time_since_epoch().count();
    if (ended_) end_join();
  } else {
    thread_.start([this] { run_on_threads(); });
  }
}

// Runs the whole join on the engine's main thread and its pool.
void CpuEngine::run_on_threads() {
  WorkerPool pool(threads_, thread_.stop());
  threads_ = pool.workers();
  execution_->build(pool);
  if (file_) one_part_limit_ = one_part_limit();
  bool more = execution_->next_round(pool);
  built_ = Clock::now().time_since_epoch().count();
  for (; more; more = execution_->next_round(pool)) {
    pool.parallel(execution_->items(),
                  [this](int worker, size_t item) { execution_->run_item(worker, item); });
  }
  end_join();
}

void CpuEngine::end_join() {
  execution_->finish();
  if (pool_) thread_.queue().finish();
  done_ = Clock::now().time_since_epoch().count();
}

// Runs items of the one round until the time is up or a batch is ready.
void CpuEngine::run_inline(std::chrono::microseconds budget) {
  if (ended_) return;
  const auto until = Clock::now() + budget;
  while (next_item_ < execution_->items()) {
    execution_->run_item(0, next_item_++);
    if (Clock::now() >= until) return;
  }
  ended_ = true;
  end_join();
}

StepResult CpuEngine::step(std::chrono::microseconds budget, Batch &out) {
  if (!execution_) {
    if (!tokens_.end_texts(text_input(), Clock::now() + budget)) return StepResult::working;
    start();
  }
  if (pool_) {
    if (thread_.queue().pop(out, std::chrono::microseconds(0))) return StepResult::batch;
    run_inline(budget);
    budget = std::chrono::microseconds(0);
  }
  return thread_.pop(budget, out);
}

JoinStats CpuEngine::stats() const {
  JoinStats stats;
  if (execution_) stats = execution_->stats();
  if (verifier_) verifier_->add_to(stats);
  stats.threads = threads_;
  stats.memory_peak = memory_.peak();
  stats.one_part_limit = one_part_limit_;
  const int64_t built = built_, done = done_;
  if (built != 0) {
    const auto end = done != 0 ? Clock::duration(done) : Clock::now().time_since_epoch();
    stats.join_ms = milliseconds(end - Clock::duration(built));
  }
  return stats;
}

}  // namespace

std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec) {
  JoinSpec on_cpu = spec;
  if (needs_gpu(spec.algorithm)) on_cpu.algorithm = Algorithm::automatic;
  return std::make_unique<CpuEngine>(on_cpu, nullptr);
}

std::unique_ptr<JoinEngine> make_cpu_engine(const JoinSpec &spec, std::unique_ptr<PairVerifier> verifier) {
  return std::make_unique<CpuEngine>(spec, std::move(verifier));
}

}  // namespace simjoin
