#include "core/join_execution.hpp"

#include <algorithm>
#include <cmath>

#include "core/cartesian_join.hpp"

namespace simjoin {
namespace {

// Sets of fewer tokens on average have no use for signatures of more than a word.
constexpr uint64_t least_average_tokens = 16;
constexpr uint32_t prefix_probes_an_item = 512;
// An item of the bitmap generator: about this many pairs, but enough probes that a tile of signatures, once
// in the cache, is used often, and few enough that their own signatures stay there.
constexpr uint32_t bitmap_pairs_an_item = 1u << 22;
constexpr uint32_t min_bitmap_probes = 16;
constexpr uint32_t max_bitmap_probes = 256;
constexpr uint64_t cartesian_pairs_an_item = uint64_t{1} << 16;
// A worker that finds little hands over what it has at least this often.
constexpr auto flush_interval = std::chrono::milliseconds(10);

double milliseconds(JoinCounters::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Returns whether the one-word signatures in the index filter for enough of the probes to be worth their
// memory.
bool signatures_pay(const JoinProblem &problem) {
  constexpr double least_share = 0.25;
  uint64_t sets = 0;
  for (uint32_t k = 0; k < problem.probe_classes.size(); ++k) {
    if (problem.most_differences(k) >= useful_differences) continue;
    sets += problem.probe.classes[k].end - problem.probe.classes[k].begin;
  }
  return static_cast<double>(sets) >= least_share * problem.probe.sets();
}

}  // namespace

JoinExecution::JoinExecution(const JoinSpec &spec, Vocabulary &vocabulary, RawSets &left, RawSets &right,
                             ResultQueue &queue, const StopFlag &stop, MemoryCounter &memory)
    : spec_(spec),
      vocabulary_(vocabulary),
      left_(left),
      right_(right),
      queue_(queue),
      stop_(stop),
      memory_(memory) {}

void JoinExecution::build(WorkerPool &pool) {
  const auto begin = JoinCounters::Clock::now();
  describe_input();
  if (std::isnan(spec_.threshold)) {
    const std::lock_guard lock(mutex_);
    figures_.reasons.push_back("the threshold is not a number: no pair qualifies");
    return;
  }
  const bool everything = spec_.threshold <= 0;
  order_sets(pool, everything);
  if (everything) {
    plan_cartesian();
  } else {
    problem_.emplace(Bounds(spec_.measure, spec_.threshold), *probe_, *index_);
    plan_filters(pool);
  }
  for (int worker = 0; worker < pool.workers(); ++worker) {
    workers_.push_back(std::make_unique<Worker>(queue_, probe_ == &*sets_[1], spec_.self_join));
  }
  const std::lock_guard lock(mutex_);
  figures_.build_ms = milliseconds(JoinCounters::Clock::now() - begin);
}

// Notes the sizes of what was added.
void JoinExecution::describe_input() {
  JoinStats figures;
  const RawSets *sides[] = {&left_, &right_};
  for (int side = 0; side < 2; ++side) {
    for (const uint32_t size : sides[side]->sizes) figures.sets[side] += size > 0;
    figures.tokens[side] = sides[side]->ids.size();
  }
  figures.distinct_tokens = vocabulary_.distinct_tokens();
  const uint64_t left = left_.rows();
  figures.pairs = spec_.self_join ? left * (left - (left > 0)) / 2 : left * right_.rows();
  const std::lock_guard lock(mutex_);
  figures_ = std::move(figures);
}

// Ranks the tokens and orders the sets of each side. The side with fewer tokens is indexed.
void JoinExecution::order_sets(WorkerPool &pool, bool keep_empty) {
  const bool index_left = spec_.self_join || left_.ids.size() <= right_.ids.size();
  Buffer<uint32_t> stored[] = {Buffer<uint32_t>(memory_), Buffer<uint32_t>(memory_)};
  RawSets *sides[] = {&left_, &right_};
  uint32_t ranks;
  {
    const Ranking ranking = vocabulary_.rank(spec_.self_join, pool);
    vocabulary_.release();
    ranks = ranking.ranks;
    for (int side = 0; side < (spec_.self_join ? 1 : 2); ++side) {
      apply_ranks(*sides[side], ranking, stored[side], pool);
    }
  }
  for (int side = 0; side < (spec_.self_join ? 1 : 2); ++side) {
    sets_[side].emplace(order_by_size(*sides[side], stored[side], ranks, keep_empty, pool, memory_));
    stored[side].release();
  }
  index_ = index_left ? &*sets_[0] : &*sets_[1];
  probe_ = spec_.self_join || !index_left ? &*sets_[0] : &*sets_[1];
}

void JoinExecution::plan_cartesian() {
  for (uint32_t end = probe_->sets(); end > 0;) {
    const uint64_t partners = std::max(1u, spec_.self_join ? end : index_->sets());
    const uint64_t probes = std::max<uint64_t>(1, cartesian_pairs_an_item / partners);
    const auto begin = static_cast<uint32_t>(end - std::min<uint64_t>(end, probes));
    items_.push_back({begin, end, Generator::cartesian});
    end = begin;
  }
  const std::lock_guard lock(mutex_);
  figures_.algorithm = "all pairs";
  figures_.after_length = figures_.pairs;
  figures_.reasons.push_back("every pair reaches a threshold of zero: all are enumerated");
}

// Decides which probes go through which generator, and builds what those need.
void JoinExecution::plan_filters(WorkerPool &pool) {
  GeneratorPlan plan;
  plan.use_bitmap.assign(problem_->probe_classes.size(), false);
  if (spec_.algorithm == Algorithm::automatic) plan = choose_generators(*problem_, pool, memory_);
  if (spec_.algorithm == Algorithm::bitmap) plan = choose_bitmaps(*problem_, stop_);
  const auto bitmaps = std::count(plan.use_bitmap.begin(), plan.use_bitmap.end(), true);
  const bool use_bitmap = bitmaps > 0;
  const bool use_prefix = bitmaps < std::ssize(plan.use_bitmap);
  if (use_prefix) build_prefix(pool);
  if (use_bitmap) build_bitmaps(plan, pool);
  cut_items(plan.use_bitmap);
  const std::lock_guard lock(mutex_);
  figures_.used_prefix = use_prefix;
  figures_.used_bitmap = use_bitmap || (use_prefix && prefix_join_->has_bitmaps());
  figures_.after_length = problem_->compatible_pairs();
  figures_.reasons = std::move(plan.reasons);
  figures_.algorithm = algorithm_names[static_cast<int>(spec_.algorithm)];
  if (spec_.algorithm == Algorithm::automatic) {
    figures_.algorithm = use_prefix ? (use_bitmap ? "ppjoin + bitmap" : "ppjoin") : "bitmap";
  }
}

void JoinExecution::build_prefix(WorkerPool &pool) {
  if (spec_.algorithm == Algorithm::groupjoin) {
    std::vector<uint32_t> prefix;
    for (const ProbeClass &c : problem_->probe_classes) prefix.push_back(c.prefix);
    groups_[0].emplace(group_by_prefix(*sets_[probe_ == &*sets_[0] ? 0 : 1], prefix, pool, memory_));
    if (!spec_.self_join) {
      groups_[1].emplace(
          group_by_prefix(*sets_[index_ == &*sets_[0] ? 0 : 1], problem_->index_prefix, pool, memory_));
    }
  }
  const PrefixGroups *probe_groups = groups_[0] ? &*groups_[0] : nullptr;
  const PrefixGroups *index_groups = groups_[1] ? &*groups_[1] : probe_groups;
  const bool sign = spec_.algorithm == Algorithm::automatic && signatures_pay(*problem_);
  prefix_index_.emplace(*problem_, index_groups, sign, pool, memory_);
  const bool positional = spec_.algorithm != Algorithm::allpairs;
  if (spec_.algorithm == Algorithm::automatic &&
      index_->tokens.size() >= least_average_tokens * index_->sets()) {
    parity_table_.emplace(*index_, pool, memory_);
  }
  const ParityTable *table = parity_table_ ? &*parity_table_ : nullptr;
  prefix_join_.emplace(PrefixJoin{*problem_, *prefix_index_, probe_groups, positional, table});
}

// Signs the sets that are partners of probes that use bitmaps.
void JoinExecution::build_bitmaps(const GeneratorPlan &plan, WorkerPool &pool) {
  uint32_t first = UINT32_MAX, end = 0;
  for (uint32_t k = 0; k < plan.use_bitmap.size(); ++k) {
    const ProbeClass &c = problem_->probe_classes[k];
    if (!plan.use_bitmap[k] || c.class_begin == c.class_end) continue;
    first = std::min(first, problem_->first_partner(k));
    end = std::max(end, problem_->end_partner(k, probe_->classes[k].end));
  }
  signatures_.emplace(*index_, std::min(first, end), end, plan.layout, pool, memory_);
}

// Cuts the probes into items, the largest sets first: they take longest, and what is left for the end is
// small.
void JoinExecution::cut_items(const std::vector<bool> &use_bitmap) {
  for (auto k = static_cast<uint32_t>(use_bitmap.size()); k > 0;) {
    const uint32_t last = k--;  // classes [k, last) share a generator
    while (k > 0 && use_bitmap[k - 1] == use_bitmap[last - 1]) --k;
    const uint32_t begin = probe_->classes[k].begin;
    for (uint32_t end = probe_->classes[last - 1].end; end > begin;) {
      uint32_t probes = prefix_probes_an_item;
      if (use_bitmap[k]) {
        const uint32_t probe_class = probe_->class_of(end - 1);
        const uint32_t partners =
            problem_->end_partner(probe_class, end) - problem_->first_partner(probe_class);
        probes =
            std::clamp(bitmap_pairs_an_item / std::max(1u, partners), min_bitmap_probes, max_bitmap_probes);
      }
      const uint32_t from = end - std::min(end - begin, probes);
      items_.push_back({from, end, use_bitmap[k] ? Generator::bitmap : Generator::prefix});
      end = from;
    }
  }
}

void JoinExecution::run_item(int worker_number, size_t number) {
  Worker &worker = *workers_[static_cast<size_t>(worker_number)];
  const Item &item = items_[number];
  JoinCounters counters;
  switch (item.generator) {
    case Generator::prefix:
      if (!worker.prefix) {
        worker.prefix = std::make_unique<PrefixProber>(*prefix_join_, worker.writer, stop_, memory_);
      }
      worker.prefix->run(item.begin, item.end, counters);
      break;
    case Generator::bitmap:
      if (!worker.bitmap) {
        worker.bitmap = std::make_unique<BitmapProber>(*problem_, *signatures_, worker.writer, stop_);
      }
      worker.bitmap->run(item.begin, item.end, counters);
      break;
    case Generator::cartesian:
      enumerate_pairs(*probe_, *index_, item.begin, item.end, worker.writer, stop_, counters);
      break;
  }
  {
    const std::lock_guard lock(mutex_);
    counters_ += counters;
  }
  const auto now = JoinCounters::Clock::now();
  if (now - worker.flushed >= flush_interval) {
    worker.writer.flush();
    worker.flushed = now;
  }
}

void JoinExecution::finish() {
  for (const std::unique_ptr<Worker> &worker : workers_) worker->writer.flush();
}

void JoinExecution::add_to(JoinStats &stats) const {
  const std::lock_guard lock(mutex_);
  stats = figures_;
  stats.after_prefix = counters_.after_prefix;
  stats.after_positional = counters_.after_positional;
  stats.after_bitmap = counters_.after_bitmap;
  stats.verified = counters_.verified;
  stats.output = counters_.output;
  stats.filter_ms = milliseconds(counters_.filter);
  stats.verify_ms = milliseconds(counters_.verify);
}

}  // namespace simjoin
