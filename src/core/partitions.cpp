#include "core/partitions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/choose_layout.hpp"

namespace simjoin {
namespace {

// A slice of probes takes this part of the limit, for each worker: they are read, ordered and joined by one
// worker each.
constexpr size_t slices_a_limit = 16;
constexpr size_t least_slice_bytes = 256;
constexpr size_t most_slice_bytes = size_t{4} << 20;
// What a slice takes while its sets become probes, in copies of itself; more where they are grouped.
constexpr size_t slice_copies = 3;
constexpr size_t grouped_slice_copies = 6;
// Each slice has a buffer and an entry in tables: there are no more than these.
constexpr uint64_t most_slices = 1024;
// The part of the limit for the buffers of all slices.
constexpr size_t buffer_share = 4;
// What a join cannot do without, such as the sizes of its sets, may leave too little of the limit: rounds
// have this part of it in any case.
constexpr size_t least_round_share = 2;
// A table of the ranks of a round is worth this part of the limit.
constexpr size_t rank_tables_a_limit = 16;

// Sets whose sizes differ by less than a fifth are so alike that one decision does for all: a quarter of an
// octave. (Within half an octave, bitmaps that suit the smallest sets let too much pass of the largest.)
int kin_of(uint32_t size) {
  return static_cast<int>(4 * std::log2(std::max(1u, size)));
}

uint64_t file_bytes(const RawSets &raw) {
  return sizeof(uint32_t) * (raw.tokens() + 3 * uint64_t{raw.rows()});
}

}  // namespace

Partitions::Partitions(const JoinSpec &spec, Ranking ranking, RawSets &left, RawSets &right, SpillFile &file,
                       WorkerPool &pool, MemoryCounter &memory)
    : spec_(spec), stop_(pool.stop()), memory_(memory) {
  RawSets *raw[] = {&left, &right};
  const int sides = spec.self_join ? 1 : 2;
  index_side_ = spec.self_join || left.tokens() <= right.tokens() ? 0 : 1;
  probe_side_ = spec.self_join ? 0 : 1 - index_side_;
  const size_t share = spec.memory_limit / (slices_a_limit * static_cast<size_t>(pool.workers()));
  const auto least = static_cast<size_t>((file_bytes(left) + file_bytes(right)) / most_slices);
  slice_bytes_ = std::max(least, std::clamp(share, least_slice_bytes, most_slice_bytes));
  ranks_ = ranking.ranks;
  const auto only_equal = [&](uint32_t size) { return spec_.self_join && only_equal_partners(size); };
  for (int side = 0; side < sides; ++side) {
    sides_[side].emplace(*raw[side], every_pair(), slice_bytes_, only_equal, file, stop_, memory);
    sides_[side]->take(*raw[side], ranking, spec.memory_limit / buffer_share, pool);
  }
}

// Returns whether sets of a size are similar to equal ones alone.
bool Partitions::only_equal_partners(uint32_t size) const {
  if (every_pair() || size == 0) return false;
  const Bounds bounds(spec_.measure, spec_.threshold);
  const int64_t n = size;
  return bounds.min_partner(n) == n && bounds.max_partner(n, n + 1) == n && bounds.min_overlap(n, n) == n;
}

// Returns a collection with the classes of all sets, but no sets.
SetCollection Partitions::outline(const SlicedSets &sets) const {
  SetCollection collection(memory_);
  collection.classes = sets.classes();
  return collection;
}

uint64_t Partitions::compatible_pairs() const {
  const SetCollection index = outline(index_sets());
  if (spec_.self_join)
    return JoinProblem(Bounds(spec_.measure, spec_.threshold), index, index).compatible_pairs();
  const SetCollection probe = outline(probe_sets());
  return JoinProblem(Bounds(spec_.measure, spec_.threshold), probe, index).compatible_pairs();
}

std::unique_ptr<JoinRound> Partitions::next_round(WorkerPool &pool) {
  while (next_slice_ < index_sets().slices().size()) {
    const size_t first = next_slice_;
    SetCollection index = read_index(pool);
    find_probe_slices(first, next_slice_);
    if (!spec_.self_join && probe_slices_.empty()) continue;
    RoundInput input;
    input.later_probes = true;
    if (!spec_.self_join) input.probe = outline(probe_sets());
    auto round = std::make_unique<JoinRound>(spec_, std::move(index), std::move(input), stop_, memory_);
    GeneratorPlan plan;
    if (!round->every_pair()) {
      const Decision decision = decide(*round, pool);
      plan.use_bitmap.assign(round->problem().probe_classes.size(), decision.bitmap);
      plan.layout = decision.layout;
      plan.sign_postings = decision.sign_postings;
      plan.sign_sets = decision.sign_sets;
    }
    round->build(plan, pool);
    return round;
  }
  return nullptr;
}

// Returns the tokens of a slice's sets that are in their index prefixes, about.
size_t Partitions::postings_of(const Slice &slice) const {
  double share = 0;
  for (uint32_t k = slice.class_begin; k < slice.class_end; ++k) {
    const uint32_t size = index_sets().classes()[k].size;
    share = std::max(share, index_prefix_length(spec_, size) / std::max(1.0, static_cast<double>(size)));
  }
  const uint64_t stored = SlicedSets::stored_tokens(slice);
  return std::min(stored, static_cast<uint64_t>(share * static_cast<double>(slice.tokens)) + 1);
}

// Returns the bytes of a round of this shape: of the generator that was decided on for its sets; before that,
// of any.
size_t Partitions::round_bytes(const RoundShape &shape, int workers) const {
  const size_t prefix = estimated_round_bytes(spec_, shape, 0, workers);
  if (!uses_choice()) return prefix;
  const auto size = static_cast<uint32_t>(shape.tokens / shape.sets);
  const auto decided = decisions_.find(kin_of(size));
  if (decided == decisions_.end()) {
    return std::max(prefix, estimated_round_bytes(spec_, shape, widest_layout_words(size), workers));
  }
  const Decision &decision = decided->second;
  if (decision.bitmap) return estimated_round_bytes(spec_, shape, decision.layout.words, workers);
  RoundShape decided_shape = shape;
  decided_shape.signs_postings = decision.sign_postings;
  return estimated_round_bytes(spec_, decided_shape, 0, workers);
}

// Reads as many of the next slices of the index side as fit into the limit, but at least one; a few at a
// time, since how many ranks they have in common shows only then.
SetCollection Partitions::read_index(WorkerPool &pool) {
  const int workers = pool.workers();
  const size_t copies = spec_.algorithm == Algorithm::groupjoin ? grouped_slice_copies : slice_copies;
  local_ranks_.reset();
  local_ranks_.emplace(ranks_, memory_);
  const size_t limit = spec_.memory_limit, table_bytes = ranks_ * sizeof(uint32_t);
  const bool rank_table = table_bytes <= limit / rank_tables_a_limit;
  const size_t taken = memory_.current() + (rank_table ? table_bytes : 0) +
                       static_cast<size_t>(workers) * (bytes_a_worker + copies * slice_bytes_);
  const size_t budget = std::max(limit / least_round_share, limit > taken ? limit - taken : 0);

  const std::vector<Slice> &slices = index_sets().slices();
  const size_t first = next_slice_;
  Records records(memory_);
  RoundShape shape;
  for (bool full = false; !full && next_slice_ < slices.size();) {
    std::vector<const Slice *> more;
    uint64_t tokens = 0;  // of these
    while (next_slice_ < slices.size() && std::ssize(more) < workers) {
      const Slice &slice = slices[next_slice_];
      RoundShape larger = shape;
      larger.sets += slice.sets;
      larger.tokens += SlicedSets::stored_tokens(slice);
      larger.postings += postings_of(slice);
      tokens += SlicedSets::stored_tokens(slice);
      larger.ranks = std::min<uint64_t>(ranks_, local_ranks_->marked() + tokens);
      full = next_slice_ > first && round_bytes(larger, workers) > budget;
      if (full) break;
      shape = larger;
      more.push_back(&slice);
      ++next_slice_;
    }
    const size_t before = records.ends.size();
    index_sets().read(more, records, &pool);
    index_sets().mark_ranks(records, before, *local_ranks_, pool);
  }
  local_ranks_->number(rank_table);
  const Slice &last = slices[next_slice_ - 1];
  return index_sets().collect(records, slices[first].class_begin, last.class_end, *local_ranks_, {}, &pool,
                              memory_);
}

// Lists the slices of probes that can have partners in the slices [first, end) of the index side; in a
// self-join, of those after them.
void Partitions::find_probe_slices(size_t first, size_t end) {
  const std::vector<Slice> &slices = index_sets().slices();
  const uint32_t smallest = index_sets().smallest(slices[first]);
  const uint32_t largest = index_sets().largest(slices[end - 1]);
  probe_slices_.clear();
  for (size_t slice = probe_sets().slices().size(); slice > (spec_.self_join ? end : 0); --slice) {
    const Slice &probe = probe_sets().slices()[slice - 1];
    // Equal sets are in one bucket, whose slices lie side by side.
    const bool meets = probe.bucket != 0 ? probe.bucket == slices[end - 1].bucket &&
                                               probe.class_begin == slices[end - 1].class_begin
                                         : compatible(probe, smallest, largest);
    if (meets) probe_slices_.push_back(slice - 1);
  }
}

// Returns whether sets of the slice can have partners among sets of these sizes.
bool Partitions::compatible(const Slice &probe, uint32_t smallest, uint32_t largest) const {
  if (every_pair()) return true;
  const Bounds bounds(spec_.measure, spec_.threshold);
  for (uint32_t k = probe.class_begin; k < probe.class_end; ++k) {
    const uint32_t size = probe_sets().classes()[k].size;
    const int64_t low = std::max<int64_t>(smallest, bounds.min_partner(size));
    const int64_t high = std::min<int64_t>(largest, bounds.max_partner(size, std::max(size, largest)));
    if (low <= high) return true;
  }
  return false;
}

// Returns the sets of the probe slices of these numbers, descending, with the ranks of the round, but for
// those that share too few tokens with all of its index side.
SetCollection Partitions::read_probes(std::span<const size_t> numbers, const SetCollection &index,
                                      WorkerPool *pool) const {
  std::vector<const Slice *> slices;
  for (const size_t number : numbers) slices.push_back(&probe_sets().slices()[number]);
  const uint32_t class_begin = slices.back()->class_begin, class_end = slices.front()->class_end;
  std::vector<uint32_t> least;
  if (!every_pair()) {
    const Bounds bounds(spec_.measure, spec_.threshold);
    for (uint32_t k = class_begin; k < class_end; ++k) {
      const int64_t size = probe_sets().classes()[k].size;
      const int64_t partner = std::max<int64_t>(bounds.min_partner(size), index.classes.front().size);
      least.push_back(static_cast<uint32_t>(bounds.min_overlap(size, partner)));
    }
  }
  Records records(memory_);
  probe_sets().read(slices, records, pool);
  return probe_sets().collect(records, class_begin, class_end, *local_ranks_, least, pool, memory_);
}

void Partitions::run_slice(size_t slice, const JoinRound &round, ResultWriter &writer, JoinCounters &counters,
                           const std::function<void()> &after_range) const {
  const std::span<const size_t> one(&probe_slices_[slice], 1);
  round.run_probes(read_probes(one, round.index(), nullptr), writer, counters, after_range);
}

// Decides for a round; rounds of sets of about the same size are decided once.
Partitions::Decision Partitions::decide(const JoinRound &round, WorkerPool &pool) {
  if (!uses_choice()) return {};
  const SetCollection &index = round.index();
  const uint32_t size = index.classes[index.class_of(index.sets() / 2)].size;
  const int kin = kin_of(size);
  if (!decisions_.contains(kin)) {
    const GeneratorPlan plan = choose(round, pool);
    const bool bitmap = !plan.use_bitmap.empty() && plan.use_bitmap.front();
    const Decision decision{bitmap, plan.sign_postings, plan.sign_sets, plan.layout};
    decisions_.emplace(kin, decision);
    const std::string way = decision.bitmap
                                ? "bitmaps of " + std::to_string(64 * decision.layout.words) + " bits"
                                : "the prefix index";
    reasons_.push_back("rounds with sets of about " + std::to_string(size) + " tokens: through " + way);
  }
  Decision decision = decisions_.at(kin);
  decision.layout.ranks = index.ranks;
  decision.layout.own = std::min(decision.layout.own, index.ranks);
  return decision;
}

// Chooses by a sample of the probes, of all sizes; where there are none but the round's own sets, by these.
GeneratorPlan Partitions::choose(const JoinRound &round, WorkerPool &pool) {
  const auto choose_for = [&](const JoinProblem &problem, double share) {
    return spec_.algorithm == Algorithm::bitmap ? choose_bitmaps(problem, stop_)
                                                : choose_one_generator(problem, share, pool, memory_);
  };
  if (probe_slices_.empty()) return choose_for(round.problem(), 1);
  // Evenly spread, as many slices as have half of the tokens of the index side: bringing them into order
  // takes no more memory than that side did.
  uint64_t tokens = 1;
  for (const size_t number : probe_slices_) {
    tokens += SlicedSets::stored_tokens(probe_sets().slices()[number]);
  }
  const double share = static_cast<double>(round.index().tokens.size()) / static_cast<double>(2 * tokens);
  const size_t all = probe_slices_.size();
  const size_t count = std::clamp<size_t>(static_cast<size_t>(share * static_cast<double>(all)), 1, all);
  std::vector<size_t> sample;
  for (size_t i = 0; i < count; ++i) sample.push_back(probe_slices_[(2 * i + 1) * all / (2 * count)]);
  const SetCollection probes = read_probes(sample, round.index(), &pool);
  return choose_for(JoinProblem(round.problem().bounds, probes, round.index(), spec_.self_join),
                    static_cast<double>(count) / static_cast<double>(all));
}

}  // namespace simjoin
