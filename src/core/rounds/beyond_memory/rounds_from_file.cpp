#include "core/rounds/beyond_memory/rounds_from_file.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.hpp"
#include "core/candidates/prefix/equal_sets.hpp"
#include "core/choice/choose_layout.hpp"

namespace simjoin {
namespace {

// A slice of probes takes this part of the limit for each worker. One worker reads, orders and joins it.
constexpr size_t slices_per_limit = 16;
constexpr size_t least_slice_bytes = 256;
constexpr size_t most_slice_bytes = size_t{4} << 20;
// The copies of a slice while its sets become probes. Grouped probes need more copies.
constexpr size_t slice_copies = 2;
constexpr size_t grouped_slice_copies = 6;
// Each slice has a buffer and an entry in tables, so there are at most these many, by the limit.
constexpr size_t least_slices = 1024, most_slices = 4096, bytes_per_slice_table = 4096;
// The part of the limit for the buffers of all slices.
constexpr size_t buffer_share = 4;
// The data that a join always needs, such as the sizes of its sets, may leave too little of the limit. Rounds
// have this part of it in any case.
constexpr size_t least_round_share = 2;
// A table of the ranks of a round is worth this part of the limit.
constexpr size_t rank_tables_per_limit = 16;

// Sets whose sizes differ by less than a fifth (a quarter of an octave) are so alike that one decision
// suffices for all. Within half an octave, bitmaps that suit the smallest sets let too many pairs of the
// largest pass.
int size_quarter_octave(uint32_t size) {
  return static_cast<int>(4 * std::log2(std::max(1u, size)));
}

uint64_t file_bytes(const RawSets &raw) {
  return sizeof(uint32_t) * (raw.tokens() + 3 * uint64_t{raw.rows()});
}

}  // namespace

RoundsFromFile::RoundsFromFile(const JoinSpec &spec, Ranking ranking, RawSets &left, RawSets &right,
                               SpillFile &file, WorkerPool &pool, MemoryCounter &memory)
    : spec_(spec), stop_(pool.stop()), memory_(memory) {
  RawSets *raw[] = {&left, &right};
  const int sides = spec.self_join ? 1 : 2;
  index_side_ = spec.self_join || left.tokens() <= right.tokens() ? 0 : 1;
  probe_side_ = spec.self_join ? 0 : 1 - index_side_;
  const size_t share = spec.memory_limit / (slices_per_limit * static_cast<size_t>(pool.workers()));
  const size_t slices = std::clamp(spec.memory_limit / bytes_per_slice_table, least_slices, most_slices);
  const auto least = static_cast<size_t>((file_bytes(left) + file_bytes(right)) / slices);
  slice_bytes_ = std::max(least, std::clamp(share, least_slice_bytes, most_slice_bytes));
  ranks_ = ranking.ranks;
  const auto only_equal = [&](uint32_t size) { return spec_.self_join && only_equal_partners(size); };
  for (int side = 0; side < sides; ++side) {
    SliceWriter writer(*raw[side], every_pair(), slice_bytes_, only_equal, file, stop_, memory);
    sides_[side].emplace(writer.write(*raw[side], ranking, spec.memory_limit / buffer_share, pool), file,
                         stop_);
  }
}

// Returns whether sets of this size are similar to equal sets alone.
bool RoundsFromFile::only_equal_partners(uint32_t size) const {
  if (every_pair() || size == 0) return false;
  const Bounds bounds = this->bounds();
  const int64_t n = size;
  return bounds.min_partner(n) == n && bounds.max_partner(n, n + 1) == n && bounds.min_overlap(n, n) == n;
}

// Returns a collection that has the classes of all sets, but no sets.
SetCollection RoundsFromFile::outline(const SlicedSets &sets) const {
  SetCollection collection(memory_);
  collection.classes = sets.classes();
  return collection;
}

uint64_t RoundsFromFile::compatible_pairs() const {
  const SetCollection index = outline(index_sets());
  if (spec_.self_join) return JoinProblem(bounds(), index, index).compatible_pairs();
  const SetCollection probe = outline(probe_sets());
  return JoinProblem(bounds(), probe, index).compatible_pairs();
}

std::unique_ptr<JoinRound> RoundsFromFile::next_round(WorkerPool &pool, const std::function<void()> &grown) {
  while (next_slice_ < index_sets().slices().size()) {
    local_ranks_.reset();
    const size_t first = next_slice_, equal_end = end_of_equal_round(pool.workers());
    const bool only_equal = equal_end > first;
    SetCollection index = only_equal ? read_equal_round(equal_end, pool, grown) : read_index(pool, grown);
    find_probe_slices(first, next_slice_);
    if (!spec_.self_join && probe_slices_.empty()) continue;
    RoundInput input;
    input.index_left = index_left();
    input.later_probes = !only_equal;
    if (!spec_.self_join) input.probe = outline(probe_sets());
    auto round = std::make_unique<JoinRound>(spec_, std::move(index), std::move(input), stop_, memory_);
    GeneratorPlan plan;
    if (!round->every_pair()) {
      const Decision decision = only_equal ? Decision{} : decide(*round, pool);
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

// Returns about the number of tokens of a slice's sets that are in their index prefixes.
size_t RoundsFromFile::postings_of(const Slice &slice) const {
  double share = 0;
  for (uint32_t k = slice.class_begin; k < slice.class_end; ++k) {
    const uint32_t size = index_sets().classes()[k].size;
    share = std::max(share, index_prefix_length(bounds().reversed(), spec_.self_join, size) /
                                std::max(1.0, static_cast<double>(size)));
  }
  const uint64_t stored = SlicedSets::stored_tokens(slice);
  return std::min(stored, static_cast<uint64_t>(share * static_cast<double>(slice.tokens)) + 1);
}

// Returns whether all probes that meet sets of up to `size` tokens can be swept.
bool RoundsFromFile::can_sweep(uint32_t size) const {
  return spec_.algorithm == Algorithm::automatic &&
         sweeps_all(bounds().reversed(), size, probe_sets().classes().back().size);
}

// Returns the bytes of a round of this shape beside `probes` bytes of probes. If a generator was decided on
// for its sets, the bytes are for that generator, otherwise for any.
size_t RoundsFromFile::round_bytes(RoundShape shape, uint32_t largest, size_t probes, int workers) const {
  const auto bytes = [&](uint32_t bitmap_words) {
    const RoundBytes round = estimated_round_bytes(spec_, shape, bitmap_words, workers);
    const size_t joined = std::max(round.building, round.joining + probes);
    // Only groups are brought into order by a copy.
    return spec_.algorithm == Algorithm::groupjoin ? std::max(joined, round.ordering) : joined;
  };
  if (!uses_choice()) return bytes(0);
  shape.counts = !can_sweep(largest);
  const auto size = static_cast<uint32_t>(shape.tokens / shape.sets);
  const auto decided = decisions_.find(size_quarter_octave(size));
  if (decided == decisions_.end()) return std::max(bytes(0), bytes(widest_layout_words(size)));
  const Decision &decision = decided->second;
  if (decision.bitmap) return bytes(decision.layout.words);
  shape.signs_postings = decision.sign_postings;
  shape.signs_sets = decision.sign_sets;
  shape.counts |= !decision.sign_postings;
  return bytes(0);
}

// Returns the bytes that a round may take if `taken` bytes are in use.
size_t RoundsFromFile::budget(size_t taken) const {
  const size_t limit = spec_.memory_limit;
  return std::max(limit / least_round_share, limit > taken ? limit - taken : 0);
}

// Returns the end of the next slices for a round that looks for equal sets alone: as many whole buckets as
// fit into the limit. If there are none, returns the number of the next slice.
size_t RoundsFromFile::end_of_equal_round(int workers) const {
  const std::vector<Slice> &slices = index_sets().slices();
  size_t end = next_slice_;
  if (spec_.algorithm != Algorithm::automatic || !spec_.self_join) return end;
  const size_t room =
      budget(memory_.current() + static_cast<size_t>(workers) * (bytes_per_worker + slice_bytes_));
  uint64_t sets = 0, tokens = 0;
  for (size_t slice = next_slice_; slice < slices.size() && slices[slice].bucket != 0; ++slice) {
    const Slice &here = slices[slice];
    sets += here.sets;
    tokens += SlicedSets::stored_tokens(here);
    constexpr size_t token = sizeof(uint32_t), set = sizeof(uint64_t) + sizeof(uint32_t);
    if (tokens * token + sets * set + EqualSets::bytes(sets) > room) break;
    const bool whole = slice + 1 == slices.size() || slices[slice + 1].bucket != here.bucket ||
                       slices[slice + 1].class_begin != here.class_begin;
    if (whole) end = slice + 1;
  }
  return end;
}

// Reads the slices up to `end`. The ranks stay global, since nothing is looked up by rank.
SetCollection RoundsFromFile::read_equal_round(size_t end, WorkerPool &pool,
                                               const std::function<void()> &grown) {
  const size_t first = std::exchange(next_slice_, end);
  grown();
  const std::span<const Slice> slices = std::span(index_sets().slices()).subspan(first, end - first);
  return index_sets().load(slices, nullptr, ranks_, pool, memory_);
}

// Reads as many of the next slices of the index side as fit into the limit, but at least one. Reads a few at
// a time, since the number of ranks that they share shows only then.
SetCollection RoundsFromFile::read_index(WorkerPool &pool, const std::function<void()> &grown) {
  const int workers = pool.workers();
  const size_t copies = spec_.algorithm == Algorithm::groupjoin ? grouped_slice_copies : slice_copies;
  local_ranks_.emplace(ranks_, memory_);
  const bool rank_table = ranks_ * sizeof(uint32_t) <= spec_.memory_limit / rank_tables_per_limit;
  const size_t taken = memory_.current() + local_ranks_->numbering_bytes(rank_table);
  const size_t room = budget(taken);
  const size_t probes = static_cast<size_t>(workers) * (bytes_per_worker + copies * slice_bytes_);

  const std::vector<Slice> &slices = index_sets().slices();
  const size_t first = next_slice_;
  RoundShape shape;
  for (bool full = false; !full && next_slice_ < slices.size();) {
    std::vector<const Slice *> more;
    uint64_t tokens = 0;  // of these
    while (next_slice_ < slices.size() && std::ssize(more) < workers) {
      const Slice &slice = slices[next_slice_];
      RoundShape larger = shape;
      larger.index_sets = larger.sets += slice.sets;
      larger.tokens += SlicedSets::stored_tokens(slice);
      larger.postings += postings_of(slice);
      tokens += SlicedSets::stored_tokens(slice);
      larger.ranks = std::min<uint64_t>(ranks_, local_ranks_->marked() + tokens);
      full = next_slice_ > first && slice.bucket != 0 && slices[next_slice_ - 1].bucket == 0;
      full |= next_slice_ > first && round_bytes(larger, index_sets().largest(slice), probes, workers) > room;
      if (full) break;
      shape = larger;
      more.push_back(&slice);
      ++next_slice_;
    }
    grown();
    index_sets().mark_ranks(more, *local_ranks_, pool, memory_);
  }
  local_ranks_->number(rank_table, pool.stop());
  return index_sets().load(std::span(slices).subspan(first, next_slice_ - first), &*local_ranks_,
                           local_ranks_->marked(), pool, memory_);
}

// Lists the slices of probes that can have partners in the slices [first, end) of the index side. In a
// self-join, only slices after them are listed.
void RoundsFromFile::find_probe_slices(size_t first, size_t end) {
  const std::vector<Slice> &slices = index_sets().slices();
  const uint32_t smallest = index_sets().smallest(slices[first]);
  const uint32_t largest = index_sets().largest(slices[end - 1]);
  probe_slices_.clear();
  for (size_t slice = probe_sets().slices().size(); slice > (spec_.self_join ? end : 0); --slice) {
    const Slice &probe = probe_sets().slices()[slice - 1];
    // Equal sets are in one bucket, whose slices are neighbours.
    const bool meets = probe.bucket != 0 ? probe.bucket == slices[end - 1].bucket &&
                                               probe.class_begin == slices[end - 1].class_begin
                                         : compatible(probe, smallest, largest);
    if (meets) probe_slices_.push_back(slice - 1);
  }
}

// Returns whether sets of the slice can have partners of sizes from `smallest` to `largest`.
bool RoundsFromFile::compatible(const Slice &probe, uint32_t smallest, uint32_t largest) const {
  if (every_pair()) return true;
  const Bounds bounds = this->bounds();
  for (uint32_t k = probe.class_begin; k < probe.class_end; ++k) {
    const uint32_t size = probe_sets().classes()[k].size;
    const int64_t low = std::max<int64_t>(smallest, bounds.min_partner(size));
    const int64_t high = std::min<int64_t>(largest, bounds.max_partner(size, std::max(size, largest)));
    if (low <= high) return true;
  }
  return false;
}

// Returns the sets of these probe slices, with the ranks of the round. `numbers` descend. Sets that share too
// few tokens with the whole index side are left out.
SetCollection RoundsFromFile::read_probes(std::span<const size_t> numbers, const SetCollection &index,
                                          WorkerPool *pool) const {
  SIMJOIN_CHECK(std::is_sorted(numbers.rbegin(), numbers.rend()));
  std::vector<const Slice *> slices;
  for (const size_t number : numbers) slices.push_back(&probe_sets().slices()[number]);
  std::reverse(slices.begin(), slices.end());
  const uint32_t class_begin = slices.front()->class_begin, class_end = slices.back()->class_end;
  std::vector<uint32_t> least;
  if (!every_pair()) {
    const Bounds bounds = this->bounds();
    for (uint32_t k = class_begin; k < class_end; ++k) {
      const int64_t size = probe_sets().classes()[k].size;
      const int64_t partner = std::max<int64_t>(bounds.min_partner(size), index.classes.front().size);
      least.push_back(static_cast<uint32_t>(bounds.min_overlap(size, partner)));
    }
  }
  return probe_sets().collect(slices, *local_ranks_, least, pool, memory_);
}

void RoundsFromFile::run_slice(size_t slice, const JoinRound &round, ResultWriter &writer,
                               JoinCounters &counters, const std::function<void()> &after_range) const {
  SIMJOIN_CHECK(slice < probe_slices_.size());
  const std::span<const size_t> one(&probe_slices_[slice], 1);
  round.run_probes(read_probes(one, round.index(), nullptr), writer, counters, after_range);
}

// Decides for a round. Rounds of sets of about the same size share one decision.
RoundsFromFile::Decision RoundsFromFile::decide(const JoinRound &round, WorkerPool &pool) {
  if (!uses_choice()) return {};
  const SetCollection &index = round.index();
  const uint32_t size = index.classes[index.class_of(index.sets() / 2)].size;
  const int kin = size_quarter_octave(size);
  if (!decisions_.contains(kin)) {
    const GeneratorPlan plan = choose(round, pool);
    const bool bitmap = !plan.use_bitmap.empty() && plan.use_bitmap.front();
    // Where all probes can be swept, signatures take less memory than the counts of all workers.
    const bool sweep = !bitmap && can_sweep(index.classes.back().size);
    const Decision decision{bitmap, plan.sign_postings || sweep, plan.sign_sets && !sweep, plan.layout};
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

// Chooses by a sample of the probes of all sizes. If there are only the round's own sets, chooses by these.
GeneratorPlan RoundsFromFile::choose(const JoinRound &round, WorkerPool &pool) {
  const auto choose_for = [&](const JoinProblem &problem, double share) {
    return spec_.algorithm == Algorithm::bitmap ? choose_bitmaps(problem, stop_)
                                                : choose_one_generator(problem, share, pool, memory_);
  };
  if (probe_slices_.empty()) return choose_for(round.problem(), 1);
  // The sample is evenly spread slices with a quarter of the tokens of the index side: two copies of them
  // take no more memory than an index would.
  uint64_t tokens = 1;
  for (const size_t number : probe_slices_) {
    tokens += SlicedSets::stored_tokens(probe_sets().slices()[number]);
  }
  const double share = static_cast<double>(round.index().tokens.size()) / static_cast<double>(4 * tokens);
  const size_t all = probe_slices_.size();
  const size_t count = std::clamp<size_t>(static_cast<size_t>(share * static_cast<double>(all)), 1, all);
  std::vector<size_t> sample;
  for (size_t i = 0; i < count; ++i) sample.push_back(probe_slices_[(2 * i + 1) * all / (2 * count)]);
  const SetCollection probes = read_probes(sample, round.index(), &pool);
  return choose_for(JoinProblem(round.problem().bounds, probes, round.index(), spec_.self_join),
                    static_cast<double>(count) / static_cast<double>(all));
}

double RoundsFromFile::share_taken() const {
  const size_t slices = index_sets().slices().size();
  return slices == 0 ? 1 : static_cast<double>(next_slice_) / static_cast<double>(slices);
}

}  // namespace simjoin
