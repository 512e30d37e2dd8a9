#include "core/engine/join_execution.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/wall_clock.hpp"
#include "core/rounds/beyond_memory/round_memory.hpp"

namespace simjoin {
namespace {

// A worker that finds little hands over its pairs at least this often.
constexpr auto flush_interval = std::chrono::milliseconds(10);

// What is done once the tokens are ranked, and once the ranks of the sets are found, in their order.
constexpr double share_of_ranking = 0.04, share_of_lookups = 0.05, share_of_order = 0.07;
// What building takes of a round. Before the first one in memory it is the rest of share_before_search.
constexpr double building_part = 0.125;
// What is done after the first round in memory, if another one may follow.
constexpr double share_before_postponed = 0.9;

// Adds the time of its life to a figure.
class BuildTime {
 public:
  BuildTime(std::mutex &mutex, double &ms) : mutex_(mutex), ms_(ms) {}
  ~BuildTime() {
    const std::lock_guard lock(mutex_);
    ms_ += milliseconds_since(begin_);
  }

 private:
  std::mutex &mutex_;
  double &ms_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

JoinExecution::JoinExecution(const JoinSpec &spec, JoinTokens &tokens, RawSets &left, RawSets &right,
                             SpillFile *file, PairVerifier *verifier, ResultQueue &queue,
                             const StopFlag &stop, MemoryCounter &memory)
    : spec_(spec),
      tokens_(tokens),
      left_(left),
      right_(right),
      file_(file),
      verifier_(file == nullptr ? verifier : nullptr),
      queue_(queue),
      stop_(stop),
      memory_(memory) {}

void JoinExecution::build(WorkerPool &pool) {
  SIMJOIN_CHECK(workers_.empty() && round_ == nullptr && !partitions_);  // called once
  const BuildTime time(mutex_, figures_.build_ms), order_time(mutex_, figures_.order_ms);
  pool.count_in(&share_);
  share_.begin_stage(share_of_ranking);
  Ranking ranking = rank(pool);
  describe_input(ranking.distinct);
  if (std::isnan(spec_.threshold)) {
    const std::lock_guard lock(mutex_);
    figures_.reasons.push_back("the threshold is not a number: no pair qualifies");
    ended_ = true;
    return;
  }
  if (file_ != nullptr) {
    share_.begin_stage(share_before_search);
    partitions_.emplace(spec_, std::move(ranking), left_, right_, *file_, pool, memory_);
    index_left_ = partitions_->index_left();
  } else {
    index_left_ = spec_.self_join || left_.tokens() <= right_.tokens();
    round_ = whole_join(std::move(ranking), pool);
  }
  // A join within its caller's thread would wait for that forever.
  if (spec_.done_rows != nullptr && queue_.bounded() && verifier_ == nullptr) {
    // A second round has an index of its own, and a second copy of the sets of its rows.
    const bool room_for_two = file_ == nullptr && 3 * memory_.peak() <= spec_.memory_limit;
    demand_.emplace(*spec_.done_rows, spec_.self_join, room_for_two, left_.rows(), memory_);
  }
  for (int worker = 0; worker < pool.workers(); ++worker) {
    workers_.push_back(
        std::make_unique<Worker>(queue_, index_left_, spec_.self_join, demand_ ? &*demand_ : nullptr));
  }
}

// Returns the ranks of the tokens. Counting may use the rest of the memory limit.
Ranking JoinExecution::rank(WorkerPool &pool) {
  const size_t used = memory_.current();
  const size_t extra = spec_.memory_limit > used ? spec_.memory_limit - used : 0;
  const bool one_token = spec_.measure == Measure::overlap && spec_.threshold <= 1;
  return tokens_.take_ranking(left_, right_, file_, extra, pool,
                              one_token ? RankOrder::any : RankOrder::frequency);
}

// Notes the sizes of the input.
void JoinExecution::describe_input(uint64_t distinct_tokens) {
  const std::lock_guard lock(mutex_);
  const RawSets *sides[] = {&left_, &right_};
  for (int side = 0; side < 2; ++side) {
    figures_.sets[side] = sides[side]->sizes.filled();
    figures_.tokens[side] = sides[side]->tokens();
  }
  figures_.distinct_tokens = distinct_tokens;
  const uint64_t left = left_.rows();
  figures_.pairs = spec_.self_join ? left * (left - (left > 0)) / 2 : left * right_.rows();
  figures_.algorithm = algorithm_names[static_cast<int>(spec_.algorithm)];
}

// Returns the one round of a join in memory, not built yet. The side with fewer tokens is indexed.
std::unique_ptr<JoinRound> JoinExecution::whole_join(Ranking ranking, WorkerPool &pool) {
  std::optional<Bounds> bounds[2];  // none where every pair qualifies
  if (spec_.threshold > 0) {
    bounds[0].emplace(spec_.measure, spec_.threshold);
    bounds[1] = bounds[0]->reversed();
  }
  RawSets *const raw[] = {&left_, &right_};
  const int index_side = index_left_ ? 0 : 1;
  share_.begin_stage(share_of_lookups);
  Buffer<uint32_t> stored[] = {Buffer<uint32_t>(memory_), Buffer<uint32_t>(memory_)};
  for (int side = 0; side < 2; ++side) {
    stored[side].resize(raw[side]->rows());
    pool.parallel(raw[side]->blocks.size(), [&](int, size_t number) {
      RawBlock &block = raw[side]->blocks[number];
      uint32_t *const to = stored[side].data() + block.first_row;
      if (ranking.in_order_of_values) return count_ranked(*raw[side], block, ranking, to, stop_);
      apply_ranks(*raw[side], block, ranking, to, stop_);
    });
  }
  ranking.rank_of.release();
  share_.begin_stage(share_of_order);
  const auto order = [&](int side) {
    return order_by_size(*raw[side], std::move(stored[side]), ranking, bounds[side], pool, memory_);
  };
  RoundInput input;
  input.index_left = index_left_;
  if (!spec_.self_join) input.probe = order(1 - index_side);
  return std::make_unique<JoinRound>(spec_, order(index_side), std::move(input), stop_, memory_, verifier_);
}

bool JoinExecution::next_round(WorkerPool &pool) {
  if (ended_) return false;
  const BuildTime time(mutex_, figures_.build_ms);
  pool.count_in(&share_);
  if (partitions_) {
    round_.reset();
    round_ = partitions_->next_round(pool, [this] { share_.begin_stage(end_of_building()); });
    ended_ = round_ == nullptr;
  } else {
    const bool first = !std::exchange(begun_, true);
    ended_ = !first || !demand_;
    share_.begin_stage(first ? share_before_search : end_of_building());
    if (!first) round_ = postponed_round();
    if (round_ != nullptr) round_->build(plan_for(*round_, pool), pool);
    if (verifier_ != nullptr && !round_->every_pair()) {
      verifier_->start(round_->problem(), queue_, stop_, index_left_);
    }
  }
  pool.count_in(nullptr);
  describe_round();
  begin_items();
  return round_ != nullptr;
}

// Returns what is done once the round that is being built, or has been built, has run.
double JoinExecution::end_of_round() const {
  if (partitions_) return share_before_search + (1 - share_before_search) * partitions_->share_taken();
  return ended_ ? 1 : share_before_postponed;
}

// Returns what is done once that round is built.
double JoinExecution::end_of_building() const {
  return rounds_share_ + building_part * (end_of_round() - rounds_share_);
}

// Begins to count the items of the new round, if there is one.
void JoinExecution::begin_items() {
  if (round_ == nullptr) return;
  rounds_share_ = end_of_round();
  share_.begin_stage(rounds_share_, true);
  share_.begin_pass(items());
}

// Returns a round, not built yet, for the rows that had pairs postponed and are still not done. It has all
// their partners, which in a self-join stand on both sides. Returns null if there are no such rows.
std::unique_ptr<JoinRound> JoinExecution::postponed_round() {
  for (const std::unique_ptr<Worker> &worker : workers_) worker->writer.settle();
  uint32_t count;
  const Buffer<uint8_t> &rows = demand_->end_postponing(count);
  if (count == 0) return nullptr;
  SetCollection index = round_->take_index();
  RoundInput input;
  input.index_left = index_left_;
  input.probe = round_->take_probe();
  round_.reset();
  if (spec_.self_join) {
    input.probe = sets_of_rows(index, rows, stop_, memory_);
  } else if (index_left_) {
    index = sets_of_rows(index, rows, stop_, memory_);
  } else {
    input.probe = sets_of_rows(*input.probe, rows, stop_, memory_);
  }
  return std::make_unique<JoinRound>(spec_, std::move(index), std::move(input), stop_, memory_);
}

// Has postings signed where the counts of all workers would not fit into the limit, and signatures spare
// them.
void JoinExecution::sign_for_room(const JoinRound &round, const WorkerPool &pool, GeneratorPlan &plan) {
  const SetCollection &index = round.index(), &probe = round.problem().probe;
  if (index.classes.empty() || probe.classes.empty()) return;
  const size_t needed = memory_.current() + counted_bytes(index.sets(), pool.workers());
  if (plan.sign_postings || needed <= spec_.memory_limit) return;
  const Bounds bounds(spec_.measure, spec_.threshold);
  const uint32_t largest = probe.classes.back().size;
  if (!sweeps_all(index_left_ ? bounds : bounds.reversed(), index.classes.back().size, largest)) return;
  plan.sign_postings = true;
  plan.sign_sets = false;
  plan.reasons.emplace_back("signatures in the prefix index take less memory than counts");
}

// Decides which probes go through which generator.
GeneratorPlan JoinExecution::plan_for(const JoinRound &round, WorkerPool &pool) {
  GeneratorPlan plan;
  if (round.every_pair()) {
    plan.reasons.push_back("every pair reaches a threshold of zero: all are enumerated");
  } else if (spec_.algorithm == Algorithm::automatic) {
    plan = choose_generators(round.problem(), pool, memory_);
    sign_for_room(round, pool, plan);
  } else if (spec_.algorithm == Algorithm::bitmap) {
    plan = choose_bitmaps(round.problem(), stop_);
  } else {
    plan.use_bitmap.assign(round.problem().probe_classes.size(), false);
  }
  const std::lock_guard lock(mutex_);
  for (std::string &reason : plan.reasons) figures_.reasons.push_back(std::move(reason));
  return plan;
}

// Notes what the new round uses, if there is a round.
void JoinExecution::describe_round() {
  const std::lock_guard lock(mutex_);
  if (partitions_) {
    if (figures_.partitions == 0) {
      figures_.reasons.push_back(
          "the sets take more memory than the limit: joined part by part, from a file");
    }
    for (std::string &reason : partitions_->take_reasons()) figures_.reasons.push_back(std::move(reason));
    figures_.spilled_bytes = file_->written();
    figures_.partitions += round_ != nullptr;
  }
  const bool every_pair = spec_.threshold <= 0;
  if (figures_.after_length == 0 && (every_pair || partitions_ || round_ != nullptr)) {
    figures_.after_length = every_pair    ? figures_.pairs
                            : partitions_ ? partitions_->compatible_pairs()
                                          : round_->problem().compatible_pairs();
  }
  if (round_ != nullptr) {
    figures_.used_prefix |= round_->used_prefix();
    figures_.used_bitmap |= round_->used_bitmap();
    tiles_ |= round_->used_tiles();
  }
  if (every_pair) {
    figures_.algorithm = "all pairs";
  } else if (spec_.algorithm == Algorithm::automatic) {
    figures_.algorithm = figures_.used_prefix ? (tiles_ ? "ppjoin + bitmap" : "ppjoin") : "bitmap";
  }
}

size_t JoinExecution::items() const {
  return round_->items() + (partitions_ ? partitions_->slices() : 0);
}

void JoinExecution::run_item(int worker_number, size_t number) {
  SIMJOIN_CHECK(static_cast<size_t>(worker_number) < workers_.size() && number < items());
  Worker &worker = *workers_[static_cast<size_t>(worker_number)];
  const size_t slices = partitions_ ? partitions_->slices() : 0;
  if (number < slices) {
    partitions_->run_slice(number, *round_, worker.writer, worker.counters, [&] { hand_over(worker); });
  } else {
    round_->run_item(number - slices, worker_number, worker.writer, worker.counters);
  }
  hand_over(worker);
  share_.step();
}

// Adds the worker's counts to the join's and, if it is time, hands over its pairs.
void JoinExecution::hand_over(Worker &worker) {
  {
    const std::lock_guard lock(mutex_);
    counters_ += std::exchange(worker.counters, {});
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - worker.flushed >= flush_interval) {
    worker.writer.flush();
    worker.flushed = now;
  }
}

void JoinExecution::finish() {
  for (const std::unique_ptr<Worker> &worker : workers_) worker->writer.flush();
  if (verifier_ != nullptr && round_ != nullptr && !round_->every_pair()) verifier_->finish();
  share_.end();
}

JoinStats JoinExecution::stats() const {
  const std::lock_guard lock(mutex_);
  JoinStats stats = figures_;
  stats.PairCounts::operator+=(counters_);
  stats.filter_ms = milliseconds(counters_.filter);
  stats.verify_ms = milliseconds(counters_.verify);
  return stats;
}

}  // namespace simjoin
