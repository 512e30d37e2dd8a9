#include "core/rounds/join_round.hpp"

#include <algorithm>
#include <utility>

#include "core/base/check.hpp"
#include "core/candidates/cartesian_join.hpp"
#include "core/candidates/verify.hpp"

namespace simjoin {
namespace {

// An item of the prefix index: about this many tokens of probes. Short sets are swept in blocks
// (PrefixSweeper).
constexpr uint32_t prefix_tokens_per_item = 1u << 17;
constexpr uint32_t min_prefix_probes = 128;
constexpr uint32_t max_prefix_probes = 1u << 15;
// An item of the bitmap generator: about this many pairs, but enough probes that a tile of signatures, once
// in the cache, is used often, and few enough that their own signatures stay there.
constexpr uint32_t bitmap_pairs_per_item = 1u << 22;
constexpr uint32_t min_bitmap_probes = 16;
constexpr uint32_t max_bitmap_probes = 256;
constexpr uint64_t cartesian_pairs_per_item = uint64_t{1} << 16;

// Returns the bounds of a probe and a set of the index side.
Bounds bounds_of(const JoinSpec &spec, bool index_left) {
  const Bounds bounds(spec.measure, spec.threshold);
  return index_left ? bounds.reversed() : bounds;
}

std::vector<uint32_t> probe_prefixes(const JoinProblem &problem) {
  std::vector<uint32_t> prefix;
  for (const ProbeClass &c : problem.probe_classes) prefix.push_back(c.prefix);
  return prefix;
}

}  // namespace

JoinRound::JoinRound(const JoinSpec &spec, SetCollection index, RoundInput input, const StopFlag &stop,
                     MemoryCounter &memory, PairVerifier *verifier)
    : spec_(spec),
      stop_(stop),
      memory_(memory),
      verifier_(verifier),
      index_(std::move(index)),
      input_(std::move(input)) {
  if (spec.threshold > 0) problem_.emplace(bounds_of(spec, input_.index_left), probe(), index_);
}

void JoinRound::build(const GeneratorPlan &plan, WorkerPool &pool) {
  SIMJOIN_CHECK(probers_.empty());  // called once
  SIMJOIN_CHECK(every_pair() || plan.use_bitmap.size() == problem_->probe_classes.size());
  probers_.resize(static_cast<size_t>(pool.workers()));
  if (!every_pair()) {
    const auto bitmaps = std::count(plan.use_bitmap.begin(), plan.use_bitmap.end(), true);
    if (bitmaps < std::ssize(plan.use_bitmap)) build_prefix(plan, pool);
    if (bitmaps > 0) build_bitmaps(plan, pool);
  }
  if (!probes_here()) return;
  const Probes probes{probe(), every_pair() ? nullptr : &*problem_, groups_[0] ? &*groups_[0] : nullptr};
  items_ = cut(probes, plan.use_bitmap);
}

void JoinRound::build_prefix(const GeneratorPlan &plan, WorkerPool &pool) {
  if (spec_.algorithm == Algorithm::groupjoin) {
    if (probes_here()) {
      SetCollection &grouped = input_.probe ? *input_.probe : index_;
      groups_[0].emplace(group_by_prefix(grouped, probe_prefixes(*problem_), pool, memory_));
    }
    if (!self_join()) groups_[1].emplace(group_by_prefix(index_, problem_->index_prefix, pool, memory_));
  }
  const std::optional<PrefixGroups> &index_groups = groups_[self_join() ? 0 : 1];
  const PrefixIndex::Options options{
      .groups = index_groups ? &*index_groups : nullptr,
      .sign = plan.sign_postings,
      .equal_sets = spec_.algorithm == Algorithm::automatic && !input_.later_probes,
      .elsewhere = input_.later_probes ? nullptr : &plan.use_bitmap};
  prefix_index_.emplace(*problem_, options, pool, memory_);
  if (plan.sign_sets) parity_table_.emplace(index_, pool, memory_);
}

// Signs the sets that are partners of probes that use bitmaps.
void JoinRound::build_bitmaps(const GeneratorPlan &plan, WorkerPool &pool) {
  if (input_.later_probes) {
    signatures_.emplace(index_, plan.layout, pool, memory_);
  } else {
    signatures_.emplace(*problem_, plan.use_bitmap, plan.layouts, pool, memory_);
  }
}

// Cuts probes into items, the largest sets first: they take longest, so only small items are left for the
// end.
std::vector<JoinRound::Item> JoinRound::cut(const Probes &probes, const std::vector<bool> &use_bitmap) const {
  return every_pair() ? cut_cartesian(probes) : cut_filtered(probes, use_bitmap);
}

std::vector<JoinRound::Item> JoinRound::cut_cartesian(const Probes &probes) const {
  std::vector<Item> items;
  for (uint32_t end = probes.sets.sets(); end > 0;) {
    const uint64_t partners = std::max(1u, &probes.sets == &index_ ? end : index_.sets());
    const uint64_t count = std::max<uint64_t>(1, cartesian_pairs_per_item / partners);
    const auto begin = static_cast<uint32_t>(end - std::min<uint64_t>(end, count));
    items.push_back({begin, end, Generator::cartesian});
    end = begin;
  }
  return items;
}

std::vector<JoinRound::Item> JoinRound::cut_filtered(const Probes &probes,
                                                     const std::vector<bool> &use_bitmap) const {
  std::vector<Item> items;
  for (auto k = static_cast<uint32_t>(use_bitmap.size()); k > 0;) {
    const uint32_t last = k--;  // classes [k, last) share a generator
    while (k > 0 && use_bitmap[k - 1] == use_bitmap[last - 1]) --k;
    const uint32_t begin = probes.sets.classes[k].begin;
    for (uint32_t end = probes.sets.classes[last - 1].end; end > begin;) {
      const uint32_t probe_class = probes.sets.class_of(end - 1);
      uint32_t count =
          std::clamp(prefix_tokens_per_item / std::max(1u, probes.sets.classes[probe_class].size),
                     min_prefix_probes, max_prefix_probes);
      if (use_bitmap[k]) {
        const uint32_t partners =
            probes.problem->end_partner(probe_class, end) - probes.problem->first_partner(probe_class);
        count =
            std::clamp(bitmap_pairs_per_item / std::max(1u, partners), min_bitmap_probes, max_bitmap_probes);
      }
      const uint32_t from = end - std::min(end - begin, count);
      items.push_back({from, end, use_bitmap[k] ? Generator::bitmap : Generator::prefix});
      end = from;
    }
  }
  return items;
}

void JoinRound::run_item(size_t item, int worker, ResultWriter &writer, JoinCounters &counters) {
  SIMJOIN_CHECK(item < items_.size() && static_cast<size_t>(worker) < probers_.size());
  const Probes probes{probe(), every_pair() ? nullptr : &*problem_, groups_[0] ? &*groups_[0] : nullptr};
  run(items_[item], probes, probers_[static_cast<size_t>(worker)], writer, counters);
}

void JoinRound::run_probes(SetCollection probes, ResultWriter &writer, JoinCounters &counters,
                           const std::function<void()> &after_range) const {
  SIMJOIN_CHECK(input_.later_probes && probes.ranks == index_.ranks);
  std::optional<JoinProblem> problem;
  std::optional<PrefixGroups> groups;
  if (!every_pair()) {
    problem.emplace(problem_->bounds, probes, index_, self_join());
    if (spec_.algorithm == Algorithm::groupjoin) {
      WorkerPool alone(1, stop_);
      groups.emplace(group_by_prefix(probes, probe_prefixes(*problem), alone, memory_));
    }
  }
  const Probes all{probes, problem ? &*problem : nullptr, groups ? &*groups : nullptr};
  // If more probes come, all probes of a round go through the one generator that was built.
  const std::vector<bool> use_bitmap(probes.classes.size(), signatures_.has_value());
  Prober prober;
  for (const Item &item : cut(all, use_bitmap)) {
    run(item, all, prober, writer, counters);
    after_range();
  }
}

// Returns a verification of pairs without known shared tokens.
CandidateSink::Verify JoinRound::verification(const Probes &probes, ResultWriter &writer) const {
  return [&sets = probes.sets, &writer, this](uint32_t probe, uint32_t partner, JoinCounters &counters) {
    int64_t required = 0;
    if (!every_pair()) {
      required = problem_->bounds.min_overlap(sets.classes[sets.class_of(probe)].size,
                                              index_.classes[index_.class_of(partner)].size);
    }
    ++counters.verified;
    const uint32_t probe_size = sets.stored(probe), partner_size = index_.stored(partner);
    if (required > std::min(probe_size, partner_size)) return;
    const auto least = static_cast<uint32_t>(required);
    const uint32_t overlap =
        bounded_overlap(sets.begin(probe), probe_size, index_.begin(partner), partner_size, 0, least);
    if (overlap < least) return;
    ++counters.output;
    writer.emit(sets.rows[probe], index_.rows[partner], overlap);
  };
}

void JoinRound::run(const Item &item, const Probes &probes, Prober &prober, ResultWriter &writer,
                    JoinCounters &counters) const {
  if (!prober.sink) {
    prober.sink.emplace(writer, probes.sets.rows.data(), index_.rows.data(), verification(probes, writer),
                        stop_, memory_);
  }
  CandidateSink &sink = *prober.sink;
  switch (item.generator) {
    case Generator::prefix:
      if (!prober.prefix) {
        const bool positional = spec_.algorithm != Algorithm::allpairs;
        const ParityTable *table = parity_table_ ? &*parity_table_ : nullptr;
        const PrefixJoin join{*probes.problem,
                              *prefix_index_,
                              probes.groups,
                              positional,
                              table,
                              verifier_,
                              static_cast<int>(probers_.size())};
        prober.prefix = std::make_unique<PrefixProber>(join, sink, stop_, memory_);
      }
      prober.prefix->run(item.begin, item.end, counters);
      break;
    case Generator::bitmap:
      if (!prober.bitmap) {
        prober.bitmap = std::make_unique<BitmapProber>(*probes.problem, *signatures_, sink, stop_);
      }
      prober.bitmap->run(item.begin, item.end, counters);
      break;
    case Generator::cartesian:
      enumerate_pairs(probes.sets, index_, item.begin, item.end, sink, stop_, counters);
      break;
  }
  if (sink.wants_all()) return;
  const auto since = JoinCounters::Clock::now();
  sink.settle(counters);
  counters.verify += JoinCounters::Clock::now() - since;
}

}  // namespace simjoin
