#include "core/candidates/prefix/prefix_sweep.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>

#include "core/candidates/prefix/parity_signature.hpp"
#include "core/candidates/signature_kernels.hpp"
#include "core/candidates/verify.hpp"

namespace simjoin {
namespace {

// Probes per block: many, so that lists are read seldom, but so few that their tokens stay in the
// second-level cache (tuned on kosarak- and bms-shaped sets at 0.5 to 0.9, Cascade Lake, 1 MiB).
constexpr uint32_t most_block_probes = 1u << 15;
// A small index stays in the cache itself, so blocks are smaller: those of all workers together are half of
// its sets, so that many workers take no more memory than few. Each has at least this number.
constexpr uint32_t least_block_probes = 1u << 8;
constexpr uint64_t sets_per_probe = 2;
constexpr uint32_t position_bits = 8;
// Starts of lists are prefetched this many entries ahead, and their postings half as many.
constexpr size_t start_distance = 16;
// Fewer postings than this are compared one by one: they do not pay for the call of the vectorised kernel.
constexpr size_t few_postings = 6;
constexpr size_t postings_between_checks = size_t{1} << 13;

uint32_t rank_of(uint64_t entry) {
  return static_cast<uint32_t>(entry >> 32);
}
uint32_t number_of(uint64_t entry) {
  return static_cast<uint32_t>(entry) >> position_bits;
}
uint32_t position_of(uint64_t entry) {
  return entry & ((1u << position_bits) - 1);
}

// Returns the first posting in [low, end) whose unit is at least `unit`. Fast if it is near `low`.
const Posting *seek(const Posting *low, const Posting *end, uint32_t unit) {
  size_t step = 1;
  const Posting *high = low;
  while (high < end && high->unit() < unit) {
    low = high + 1;
    high = static_cast<size_t>(end - low) > step ? low + step : end;
    step *= 2;
  }
  while (low < high) {
    const Posting *middle = low + (high - low) / 2;
    if (middle->unit() < unit) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns whether two ascending arrays have no rank in common.
bool disjoint(const uint32_t *r, uint32_t r_size, const uint32_t *s, uint32_t s_size) {
  const uint32_t *const r_end = r + r_size, *const s_end = s + s_size;
  while (r < r_end && s < s_end) {
    const uint32_t a = *r, b = *s;
    if (a == b) return false;
    r += a < b;
    s += b < a;
  }
  return true;
}

}  // namespace

uint32_t PrefixSweeper::block_probes(uint64_t index_sets, int workers) {
  const uint64_t share = index_sets / (sets_per_probe * static_cast<uint64_t>(workers));
  return static_cast<uint32_t>(std::clamp<uint64_t>(share, least_block_probes, most_block_probes));
}

PrefixSweeper::PrefixSweeper(const JoinProblem &problem, const PrefixIndex &index, int workers,
                             CandidateSink &sink, const StopFlag &stop, MemoryCounter &memory)
    : problem_(problem),
      index_(index),
      sink_(sink),
      stop_(stop),
      block_probes_(block_probes(index.units(), workers)),
      bounds_(problem.probe_classes.size()),
      probes_(memory),
      entries_(memory),
      near_(memory),
      candidates_(memory) {}

bool PrefixSweeper::takes(uint32_t probe_class) {
  return index_.has_signatures() && bounds_of(probe_class).most_differences < useful_differences;
}

// Returns the bounds of a class. The overlaps are computed only if the class has few differences, and so few
// sizes of partners.
const PrefixSweeper::ClassBounds &PrefixSweeper::bounds_of(uint32_t probe_class) {
  ClassBounds &bounds = bounds_[probe_class];
  if (bounds.known) return bounds;
  bounds.known = true;
  bounds.most_differences = problem_.most_differences(probe_class);
  if (bounds.most_differences >= useful_differences) return bounds;
  const ProbeClass &partners = problem_.probe_classes[probe_class];
  const int64_t size = problem_.probe.classes[probe_class].size;
  for (uint32_t k = partners.class_begin; k < partners.class_end; ++k) {
    const int64_t overlap = problem_.bounds.min_overlap(size, problem_.index.classes[k].size);
    bounds.required.push_back(static_cast<uint32_t>(overlap));
  }
  return bounds;
}

void PrefixSweeper::run(uint32_t begin, uint32_t end, JoinCounters &counters) {
  since_ = JoinCounters::Clock::now();
  const hwy::Sorter sorter;
  for (uint32_t block = begin; block < end; block += std::min(end - block, block_probes_)) {
    stop_.check();
    load(block, block + std::min(end - block, block_probes_));
    sorter(entries_.data(), entries_.size(), hwy::SortAscending());
    const size_t n = entries_.size();
    for (size_t i = 0; i < std::min(n, start_distance); ++i) index_.prefetch_start(rank_of(entries_[i]));
    for (size_t first = 0, last = 0; first < n; first = last) {
      while (last < n && rank_of(entries_[last]) == rank_of(entries_[first])) {
        if (last + start_distance < n) index_.prefetch_start(rank_of(entries_[last + start_distance]));
        if (last + start_distance / 2 < n)
          index_.prefetch_postings(rank_of(entries_[last + start_distance / 2]));
        ++last;
      }
      sweep(block, {entries_.data() + first, last - first}, counters);
    }
  }
  verify_round(counters);
}

// Verifies the candidates, and adds up the CPU time since the last round.
void PrefixSweeper::verify_round(JoinCounters &counters) {
  const auto generated = JoinCounters::Clock::now();
  verify(counters);
  const auto verified = JoinCounters::Clock::now();
  counters.filter += generated - since_;
  counters.verify += verified - generated;
  since_ = verified;
}

// Sets the block to the probes [begin, end), and its entries to their prefix tokens, unordered.
void PrefixSweeper::load(uint32_t begin, uint32_t end) {
  probes_.resize(end - begin);
  entries_.clear();
  uint32_t probe_class = problem_.probe.class_of(begin);
  for (uint32_t set = begin; set < end; ++set) {
    while (set >= problem_.probe.classes[probe_class].end) ++probe_class;
    const uint32_t size = problem_.probe.classes[probe_class].size;
    const uint32_t prefix =
        problem_.probe.stored_prefix(set, size, problem_.probe_classes[probe_class].prefix);
    if (prefix == 0) continue;
    probes_[set - begin] = {parity_signature(problem_.probe, set, size), problem_.probe.stored(set),
                            probe_class};
    const uint32_t *ranks = problem_.probe.begin(set);
    uint64_t *entries = entries_.extend(prefix);
    for (uint32_t i = 0; i < prefix; ++i) {
      entries[i] = uint64_t{ranks[i]} << 32 | uint64_t{set - begin} << position_bits | i;
    }
  }
}

// Finds the candidates of the block's entries of one rank. The block starts with the probe `begin`. A
// frequent token has many candidates, so they are verified as they come.
void PrefixSweeper::sweep(uint32_t begin, std::span<const uint64_t> entries, JoinCounters &counters) {
  const std::span<const Posting> list = index_.postings(rank_of(entries[0]));
  const Posting *low = list.data(), *high = low;
  const Posting *const list_end = low + list.size();
  uint32_t probe_class = UINT32_MAX;
  const ClassBounds *bounds = nullptr;
  for (const uint64_t entry : entries) {
    const Probe &probe = probes_[number_of(entry)];
    const ProbeClass &partners = problem_.probe_classes[probe.probe_class];
    if (probe.probe_class != probe_class) {
      probe_class = probe.probe_class;
      bounds = &bounds_of(probe_class);
      low = seek(low, list_end, index_.class_begin(partners.class_begin));
      high = std::max(low, high);
    }
    // Partners that need more than the `left` tokens from here on share an earlier one, or do not qualify.
    const uint32_t left = probe.stored - position_of(entry);
    size_t classes = bounds->required.size();
    while (classes > 0 && bounds->required[classes - 1] > left) --classes;
    uint32_t end = index_.class_begin(partners.class_begin + static_cast<uint32_t>(classes));
    if (problem_.self_join()) end = std::min(end, begin + number_of(entry));
    high = high > low && (high - 1)->unit() >= end ? seek(low, high - 1, end) : seek(high, list_end, end);
    if (low < high) match(begin, entry, {low, high}, *bounds);
    if (candidates_.size() >= candidates_per_round) verify_round(counters);
  }
}

// Appends the candidates among the postings, all of one list, with the probe of `entry`.
void PrefixSweeper::match(uint32_t begin, uint64_t entry, std::span<const Posting> postings,
                          const ClassBounds &bounds) {
  if (postings.size() >= postings_between_checks) stop_.check();
  const uint32_t number = number_of(entry), position = position_of(entry);
  const Probe &probe = probes_[number];
  const uint32_t first_class = problem_.probe_classes[probe.probe_class].class_begin;
  const uint32_t probe_rest = probe.stored - position - 1;
  const auto consider = [&](const Posting &posting) {
    const uint32_t required = bounds.required[index_.class_of(posting) - first_class];
    const bool exact = posting.rest() != Posting::saturated;
    if (1 + (exact ? std::min(posting.rest(), probe_rest) : probe_rest) < required) return;
    candidates_.push_back({begin + number, posting.unit(), required, position, posting.rest()});
  };
  const uint64_t *signatures = index_.signature_of(postings.data());
  if (postings.size() < few_postings) {
    for (size_t i = 0; i < postings.size(); ++i) {
      const int differences = std::popcount(signatures[i] ^ probe.signature);
      if (static_cast<uint32_t>(differences) <= bounds.most_differences) consider(postings[i]);
    }
    return;
  }
  near_.resize(0);
  near_.reserve(postings.size() + signature_padding);
  const size_t count = select_near(signatures, &postings.data()->packed, postings.size(), probe.signature,
                                   bounds.most_differences, &near_.data()->packed);
  for (size_t i = 0; i < count; ++i) consider(near_.data()[i]);
}

void PrefixSweeper::verify(JoinCounters &counters) {
  constexpr size_t check_interval = 256;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i % check_interval == 0) stop_.check();
    if (i + 2 * candidate_distance < candidates_.size()) {
      problem_.index.prefetch_start(candidates_[i + 2 * candidate_distance].partner);
      problem_.index.prefetch_tokens(candidates_[i + candidate_distance].partner);
    }
    verify_pair(candidates_[i], counters);
  }
  candidates_.clear();
}

void PrefixSweeper::verify_pair(const Candidate &candidate, JoinCounters &counters) {
  const SetCollection &probes = problem_.probe;
  const SetCollection &partners = problem_.index;
  const uint32_t *r = probes.begin(candidate.probe), *s = partners.begin(candidate.partner);
  const uint32_t r_size = probes.stored(candidate.probe), s_size = partners.stored(candidate.partner);
  const uint32_t at = candidate.position;
  const uint32_t partner_at = candidate.rest != Posting::saturated
                                  ? s_size - candidate.rest - 1
                                  : static_cast<uint32_t>(std::lower_bound(s, s + s_size, r[at]) - s);
  if (!disjoint(r, at, s, partner_at)) return;  // verified at an earlier token
  ++counters.after_prefix;
  ++counters.after_positional;
  ++counters.after_bitmap;
  if (!sink_.wants(candidate.probe, candidate.partner, counters)) return;
  ++counters.verified;
  const uint32_t overlap = bounded_overlap(r + at + 1, r_size - at - 1, s + partner_at + 1,
                                           s_size - partner_at - 1, 1, candidate.required);
  if (overlap < candidate.required) return;
  ++counters.output;
  sink_.emit(candidate.probe, candidate.partner, overlap);
}

}  // namespace simjoin
