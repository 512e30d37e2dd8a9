#include "core/weighted/weighted_search.hpp"

#include <algorithm>
#include <utility>

#include "core/base/check.hpp"
#include "core/weighted/weighted_pair.hpp"

namespace simjoin {
namespace {

constexpr size_t postings_per_look = size_t{1} << 14;  // between looks at the stop flag
constexpr size_t pairs_ahead = 8;                      // a candidate's set is prefetched so many pairs before
constexpr size_t tokens_ahead = 4;                     // and its tokens

}  // namespace

void WeightedSearch::turn_to(const WeightedIndex &index) {
  SIMJOIN_CHECK(candidates_.empty());  // those of the index before are done
  index_ = &index;
  seen_in_.resize(index.sets().sets(), 0);
  searches_ = 0;
}

// Returns the first index set whose total is not below `total`.
uint32_t WeightedSearch::first_of_total(double total) const {
  const Buffer<double> &totals = index_->sets().totals;
  return static_cast<uint32_t>(std::lower_bound(totals.begin(), totals.end(), total) - totals.begin());
}

// Returns the index set after the last one that can be the probe's partner.
uint32_t WeightedSearch::end_of_partners(const WeightedSet &probe) const {
  const WeightedSets &sets = index_->sets();
  if (!self_join_) {
    if (bounds_.every_pair()) return sets.sets();
    const double most = bounds_.most_partner(probe.total);
    return static_cast<uint32_t>(std::upper_bound(sets.totals.begin(), sets.totals.end(), most) -
                                 sets.totals.begin());
  }
  uint32_t begin = first_of_total(probe.total), end = sets.sets();
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (sets.totals[middle] > probe.total || sets.rows[middle] >= probe.row) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

void WeightedSearch::take(uint32_t probe, uint32_t partner) {
  candidates_.push_back({probe, partner});
  if (candidates_.size() == most_candidates) end_candidates();
}

// Takes the index sets [begin, end) of a list that no earlier token of the probe has led to.
void WeightedSearch::take_list(uint32_t probe, std::span<const WeightedPosting> postings, uint32_t begin,
                               uint32_t end, double least_excess) {
  const auto before = [](const WeightedPosting &posting, uint32_t set) { return posting.set < set; };
  const WeightedPosting *posting = postings.data(), *const last = posting + postings.size();
  if (posting < last && posting->set < begin) posting = std::lower_bound(posting, last, begin, before);
  for (size_t looked_at = 1; posting < last && posting->set < end; ++posting, ++looked_at) {
    if (looked_at % postings_per_look == 0) stop_.check();
    if (static_cast<double>(posting->excess) < least_excess || seen_in_[posting->set] == searches_) continue;
    seen_in_[posting->set] = searches_;
    take(probe, posting->set);
  }
}

// Finds the candidates of a probe. Its tokens are looked up as long as an index set is light enough to have
// enough in common with the tokens that remain.
void WeightedSearch::find(const WeightedSets &probes, uint32_t probe) {
  const WeightedSet set = probes[probe];
  const WeightedSets &partners = index_->sets();
  const uint32_t begin = bounds_.every_pair() ? 0 : first_of_total(bounds_.least_partner(set.total));
  uint32_t end = end_of_partners(set);
  if (begin >= end) return;
  compatible_ += end - begin;
  if (bounds_.every_pair()) {
    for (uint32_t partner = begin; partner < end; ++partner) take(probe, partner);
    return;
  }
  ++searches_;  // each probe has its turn once in an index of fewer than 2^32 sets
  rests_.resize(set.count);
  double rest = 0;
  for (uint32_t i = set.count; i-- > 0;) {
    if (i % postings_per_look == 0) stop_.check();
    rests_[i] = rest +=
        bounds_.mass(probes.format.wide ? set.doubles[i] : static_cast<double>(set.floats[i]));
  }
  for (uint32_t i = 0; i < set.count; ++i) {
    const double most = bounds_.most_total(set.total, rests_[i]);
    if (!(most >= partners.totals[end - 1])) {
      end = static_cast<uint32_t>(
          std::upper_bound(partners.totals.begin() + begin, partners.totals.begin() + end, most) -
          partners.totals.begin());
      if (begin >= end) return;
    }
    take_list(probe, index_->postings(set.ranks[i]), begin, end,
              bounds_.least_excess_for(set.total, rests_[i]));
    if (i % postings_per_look == 0) stop_.check();
  }
}

void WeightedSearch::verify_pair(uint32_t probe, uint32_t partner, JoinCounters &counters) {
  ++counters.verified;
  const double similarity =
      weighted_similarity((*probes_)[probe], (*partners_)[partner], partners_->format, bounds_, stop_);
  if (!(similarity >= bounds_.threshold())) return;
  ++counters.output;
  sink_->emit_similarity(probe, partner, similarity);
}

// Verifies those of the pairs that are wanted now.
void WeightedSearch::verify(std::span<const WeightedPair> pairs) {
  const auto since = JoinCounters::Clock::now();
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i + pairs_ahead < pairs.size()) partners_->prefetch_set(pairs[i + pairs_ahead].partner);
    if (i + tokens_ahead < pairs.size()) partners_->prefetch_tokens(pairs[i + tokens_ahead].partner);
    if (i % 256 == 0) stop_.check();
    const WeightedPair pair = pairs[i];
    if (sink_->wants(pair.probe, pair.partner, *counters_)) verify_pair(pair.probe, pair.partner, *counters_);
  }
  counters_->verify += JoinCounters::Clock::now() - since;
}

// Verifies the candidates so far, or counts them.
void WeightedSearch::end_candidates() {
  found_ += candidates_.size();
  if (counters_ != nullptr) {
    counters_->after_prefix += candidates_.size();
    counters_->after_positional += candidates_.size();
    counters_->after_bitmap += candidates_.size();
    verify({candidates_.data(), candidates_.size()});
  }
  candidates_.clear();
}

// Calls find(), which finds and verifies pairs.
template <class Find>
void WeightedSearch::hand_over(const WeightedSets &probes, const WeightedSets &partners, ResultWriter &writer,
                               MemoryCounter &memory, JoinCounters &counters, Find &&find) {
  probes_ = &probes;
  partners_ = &partners;
  counters_ = &counters;
  CandidateSink sink(
      writer, probes.rows.data(), partners.rows.data(),
      [this](uint32_t probe, uint32_t partner, JoinCounters &held) { verify_pair(probe, partner, held); },
      stop_, memory);
  sink_ = &sink;
  find();
  if (!sink.wants_all()) sink.settle(counters);
}

void WeightedSearch::search(const WeightedSets &probes, uint32_t begin, uint32_t end, ResultWriter &writer,
                            MemoryCounter &memory, JoinCounters &counters) {
  const auto since = JoinCounters::Clock::now();
  const auto verified_before = counters.verify;
  hand_over(probes, index_->sets(), writer, memory, counters, [&] {
    for (uint32_t probe = begin; probe < end; ++probe) {
      stop_.check();
      find(probes, probe);
    }
    end_candidates();
  });
  counters.filter += JoinCounters::Clock::now() - since - (counters.verify - verified_before);
}

void WeightedSearch::verify_pairs(const WeightedSets &probes, const WeightedSets &partners,
                                  std::span<const WeightedPair> pairs, ResultWriter &writer,
                                  MemoryCounter &memory, JoinCounters &counters) {
  hand_over(probes, partners, writer, memory, counters, [&] { verify(pairs); });
}

uint64_t WeightedSearch::count_candidates(const WeightedSets &probes, uint32_t begin, uint32_t end) {
  const uint64_t before = found_;
  counters_ = nullptr;
  for (uint32_t probe = begin; probe < end; ++probe) {
    stop_.check();
    find(probes, probe);
  }
  end_candidates();
  return found_ - before;
}

}  // namespace simjoin
