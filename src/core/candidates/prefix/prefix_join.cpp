#include "core/candidates/prefix/prefix_join.hpp"

#include <algorithm>

#include "core/candidates/prefix/parity_signature.hpp"
#include "core/candidates/signature_kernels.hpp"
#include "core/candidates/verify.hpp"

namespace simjoin {
namespace {

constexpr uint32_t pairs_between_checks = 1u << 13;
// If pairs may differ in at most this many tokens, the signatures in the index suffice.
constexpr uint32_t small_differences = 10;
// The prefetch distances of starts of lists, and postings. The starts must have arrived when the postings are
// asked for.
constexpr uint32_t list_distance = 8;
constexpr uint32_t posting_distance = 4;
constexpr int32_t pruned = INT32_MIN / 2;

// Returns the first posting of the list whose unit is at least `unit`, without a branch to mispredict.
const Posting *first_not_below(const Posting *list, size_t length, uint32_t unit) {
  while (length > 0) {
    const size_t half = length / 2;
    const bool below = list[half].unit() < unit;
    list = below ? list + half + 1 : list;
    length = below ? length - half - 1 : half;
  }
  return list;
}

// Returns the part of the list with units in [first, end).
std::span<const Posting> clip(std::span<const Posting> postings, uint32_t first, uint32_t end) {
  if (postings.empty()) return postings;
  const Posting *low = postings.data();
  const Posting *const last = low + postings.size();
  if (low->unit() < first) low = first_not_below(low, static_cast<size_t>(last - low), first);
  const Posting *high = last;
  if (low != high && (high - 1)->unit() >= end)
    high = first_not_below(low, static_cast<size_t>(high - low), end);
  return {low, high};
}

}  // namespace

PrefixProber::PrefixProber(const PrefixJoin &join, CandidateSink &sink, const StopFlag &stop,
                           MemoryCounter &memory)
    : join_(join),
      sink_(sink),
      stop_(stop),
      sweeper_(join.problem, join.index, join.workers, sink, stop, memory),
      required_(join.problem),
      shared_(memory),
      touched_(memory),
      candidates_(memory),
      submitted_(memory) {}

void PrefixProber::run(uint32_t begin, uint32_t end, JoinCounters &counters) {
  if (join_.probe_groups != nullptr) {
    join_.positional ? run_units<true, true>(begin, end, counters)
                     : run_units<true, false>(begin, end, counters);
  } else {
    run_ungrouped(begin, end, counters);
  }
}

PrefixProber::Way PrefixProber::way_of(uint32_t probe_class) {
  const EqualSets *equal_sets = join_.index.equal_sets();
  if (equal_sets != nullptr && equal_sets->takes(probe_class)) return Way::equality;
  return sweeper_.takes(probe_class) ? Way::sweep : Way::units;
}

// Runs one stretch of classes after the other, each in the way that suits it.
void PrefixProber::run_ungrouped(uint32_t begin, uint32_t end, JoinCounters &counters) {
  const std::vector<SizeClass> &classes = join_.problem.probe.classes;
  for (uint32_t k = join_.problem.probe.class_of(begin); begin < end;) {
    const Way way = way_of(k);
    while (k < classes.size() && classes[k].begin < end && way_of(k) == way) ++k;
    const uint32_t stretch_end = std::min(end, classes[k - 1].end);
    if (way == Way::equality) {
      join_.index.equal_sets()->run(begin, stretch_end, sink_, stop_, counters);
    } else if (way == Way::sweep) {
      sweeper_.run(begin, stretch_end, counters);
    } else if (join_.positional) {
      run_units<false, true>(begin, stretch_end, counters);
    } else {
      run_units<false, false>(begin, stretch_end, counters);
    }
    begin = stretch_end;
  }
}

template <bool grouped, bool positional>
void PrefixProber::run_units(uint32_t begin, uint32_t end, JoinCounters &counters) {
  const SetCollection &probes = join_.problem.probe;
  if (shared_.empty()) shared_.resize(join_.index.units(), 0);
  uint32_t probe_class = probes.class_of(begin);
  auto since = JoinCounters::Clock::now();
  const auto round = [&] {
    const auto generated = JoinCounters::Clock::now();
    if (join_.verifier != nullptr) {
      submit();
    } else {
      verify<grouped>(begin, end, counters);
    }
    candidates_.clear();
    const auto verified = JoinCounters::Clock::now();
    counters.filter += generated - since;
    counters.verify += verified - generated;
    since = verified;
  };
  const uint32_t first = grouped ? join_.probe_groups->group_of(begin) : begin;
  for (uint32_t unit = first;; ++unit) {
    const uint32_t set = grouped ? join_.probe_groups->first[unit] : unit;
    if (set >= end) break;
    const uint32_t sets =
        grouped ? std::min(end, join_.probe_groups->first[unit + 1]) - std::max(begin, set) : 1;
    while (set >= probes.classes[probe_class].end) ++probe_class;
    probe<grouped, positional>(unit, probe_class, sets, counters);
    if (candidates_.size() >= candidates_per_round) round();
    if (grouped && join_.probe_groups->first[unit + 1] >= end) break;
  }
  round();
}

// Appends the candidates of a unit. `sets` is the number of its sets that are probed.
template <bool grouped, bool positional>
void PrefixProber::probe(uint32_t unit, uint32_t probe_class, uint32_t sets, JoinCounters &counters) {
  const JoinProblem &problem = join_.problem;
  const PrefixIndex &index = join_.index;
  const ProbeClass &bounds = problem.probe_classes[probe_class];
  if (bounds.class_begin == bounds.class_end) return;
  stop_.check();
  set_probe_class(probe_class);
  const uint32_t set = grouped ? join_.probe_groups->first[unit] : unit;
  const uint32_t size = problem.probe.classes[probe_class].size;
  const uint32_t *ranks = problem.probe.begin(set);
  const uint32_t stored = problem.probe.stored(set);
  const uint32_t prefix = problem.probe.stored_prefix(set, size, bounds.prefix);
  const uint32_t first = index.class_begin(bounds.class_begin);
  uint32_t class_end = bounds.class_end;
  for (uint32_t i = 0; i < std::min(prefix, list_distance); ++i) index.prefetch_start(ranks[i]);
  for (uint32_t i = 0; i < prefix; ++i) {
    if (i + list_distance < prefix) index.prefetch_start(ranks[i + list_distance]);
    if (i + posting_distance < prefix) index.prefetch_postings(ranks[i + posting_distance]);
    class_end = last_reachable(bounds.class_begin, class_end, stored - i);
    const uint32_t end = index.class_begin(class_end);
    const std::span<const Posting> postings =
        clip(index.postings(ranks[i]), first, problem.self_join() ? std::min(unit, end) : end);
    scan<positional>(postings, stored - i - 1);
  }
  uint64_t wide[ParityTable::words];
  if (use_table_ && !touched_.empty()) parity_signature<ParityTable::words>(problem.probe, set, size, wide);
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (use_table_ && i + candidate_distance < touched_.size()) {
      join_.signatures->prefetch(touched_[i + candidate_distance].unit());
    }
    const uint32_t partner = touched_[i].unit();
    const int32_t known = std::exchange(shared_[partner], 0);
    const uint64_t pairs =
        grouped ? uint64_t{sets} * (index.first_set(partner + 1) - index.first_set(partner)) : 1;
    counters.after_prefix += pairs;
    if (known < 0) continue;
    counters.after_positional += pairs;
    const uint32_t index_class = index.class_of(touched_[i]);
    if (use_table_ && differs_too_much(partner, index_class, wide)) continue;
    counters.after_bitmap += pairs;
    candidates_.push_back({unit, partner, static_cast<uint32_t>(known), index_class});
  }
  touched_.clear();
  if (grouped && problem.self_join()) {
    const uint32_t known = problem.index.stored_prefix(set, size, problem.index_prefix[probe_class]);
    if (known > 0 && index.first_set(unit + 1) - set > 1) {
      candidates_.push_back({unit, unit, known, probe_class});
    }
  }
}

void PrefixProber::set_probe_class(uint32_t probe_class) {
  required_.set_probe_class(probe_class);
  if (probe_class == probe_class_) return;
  probe_class_ = probe_class;
  most_differences_ = join_.problem.most_differences(probe_class);
  use_table_ = join_.signatures != nullptr && most_differences_ >= small_differences;
}

// Returns the end of the classes within [begin, end) that require at most `left` shared tokens. Partners in
// the other classes share a token with the probe before its last `left`, or do not qualify.
uint32_t PrefixProber::last_reachable(uint32_t begin, uint32_t end, uint32_t left) {
  if (begin == end || required_[end - 1] <= left) return end;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (required_[middle] <= left) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Returns whether a partner's signature shows that the pair shares too few tokens.
bool PrefixProber::differs_too_much(uint32_t partner, uint32_t index_class, const uint64_t *signature) {
  const JoinProblem &problem = join_.problem;
  const uint64_t both =
      uint64_t{problem.probe.classes[probe_class_].size} + problem.index.classes[index_class].size;
  const uint64_t allowed = both - 2 * uint64_t{required_[index_class]};
  return allowed < ParityTable::useful_differences &&
         join_.signatures->differences(partner, signature) > allowed;
}

// Counts one token of the probe in every unit of the list. The probe has `probe_rest` tokens after it.
template <bool positional>
void PrefixProber::scan(std::span<const Posting> postings, uint32_t probe_rest) {
  if (postings.empty()) return;
  if (postings.size() >= pairs_between_checks) stop_.check();
  touched_.reserve(touched_.size() + postings.size());
  Posting *touched = touched_.end();
  int32_t *const shared = shared_.data();
  for (const Posting &posting : postings) {
    const uint32_t unit = posting.unit();
    const int32_t before = shared[unit];
    *touched = posting;
    touched += before == 0;
    if constexpr (positional) {
      const uint32_t required = required_[join_.index.class_of(posting)];
      const bool exact = posting.rest() != Posting::saturated;
      const uint32_t rest = exact ? std::min(posting.rest(), probe_rest) : probe_rest;
      const int64_t bound = int64_t{before} + 1 + rest;
      shared[unit] = bound < required ? pruned : before + 1;
    } else {
      shared[unit] = before + 1;
    }
  }
  touched_.resize(static_cast<size_t>(touched - touched_.begin()));
}

// Hands the candidates to the verifier.
void PrefixProber::submit() {
  submitted_.clear();
  for (const Candidate &candidate : candidates_) submitted_.push_back({candidate.probe, candidate.unit});
  join_.verifier->submit({submitted_.begin(), submitted_.end()});
}

// Verifies the candidates of the probe sets [begin, end).
template <bool grouped>
void PrefixProber::verify(uint32_t begin, uint32_t end, JoinCounters &counters) {
  const JoinProblem &problem = join_.problem;
  const PrefixIndex &index = join_.index;
  uint32_t probe_class = problem.probe.class_of(begin);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i % 64 == 0) stop_.check();
    const Candidate &candidate = candidates_[i];
    if (!grouped && i + 2 * candidate_distance < candidates_.size()) {
      problem.index.prefetch_start(candidates_[i + 2 * candidate_distance].unit);
      problem.index.prefetch_tokens(candidates_[i + candidate_distance].unit);
    }
    const uint32_t first_probe = grouped ? join_.probe_groups->first[candidate.probe] : candidate.probe;
    while (first_probe >= problem.probe.classes[probe_class].end) ++probe_class;
    required_.set_probe_class(probe_class);
    const uint32_t size = problem.probe.classes[probe_class].size;
    const uint32_t prefix =
        problem.probe.stored_prefix(first_probe, size, size - required_[candidate.index_class] + 1);
    if constexpr (!grouped) {
      verify_pair(candidate.probe, prefix, candidate.unit, candidate, counters);
      continue;
    }
    const bool same = problem.self_join() && candidate.probe == candidate.unit;
    const uint32_t probe_end = std::min(end, join_.probe_groups->first[candidate.probe + 1]);
    for (uint32_t probe = std::max(begin, first_probe); probe < probe_end; ++probe) {
      stop_.check();
      const uint32_t partner_end = same ? probe : index.first_set(candidate.unit + 1);
      for (uint32_t partner = index.first_set(candidate.unit); partner < partner_end; ++partner) {
        if (partner % pairs_between_checks == 0) stop_.check();
        verify_pair(probe, prefix, partner, candidate, counters);
      }
      if (same) {
        counters.after_prefix += partner_end - index.first_set(candidate.unit);
        counters.after_positional += partner_end - index.first_set(candidate.unit);
        counters.after_bitmap += partner_end - index.first_set(candidate.unit);
      }
    }
  }
}

void PrefixProber::verify_pair(uint32_t probe, uint32_t probe_prefix, uint32_t partner,
                               const Candidate &candidate, JoinCounters &counters) {
  if (!sink_.wants(probe, partner, counters)) return;
  const SetCollection &probes = join_.problem.probe;
  const SetCollection &partners = join_.problem.index;
  const uint32_t required = required_[candidate.index_class];
  const uint32_t partner_prefix =
      partners.stored_prefix(partner, partners.classes[candidate.index_class].size,
                             join_.problem.index_prefix[candidate.index_class]);
  const uint32_t overlap = bounded_overlap_after_prefix(
      probes.begin(probe), probes.stored(probe), probe_prefix, partners.begin(partner),
      partners.stored(partner), partner_prefix, candidate.known, required);
  ++counters.verified;
  if (overlap < required) return;
  ++counters.output;
  sink_.emit(probe, partner, overlap);
}

}  // namespace simjoin
