// The search of one worker: from sets that are probed to candidate pairs, and to pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/handover/candidate_sink.hpp"
#include "core/handover/join_counters.hpp"
#include "core/weighted/weighted_bounds.hpp"
#include "core/weighted/weighted_device.hpp"
#include "core/weighted/weighted_index.hpp"

namespace simjoin {

class WeightedSearch {
 public:
  // `self_join`: index sets and probes are of one collection, and a probe's partners come before it in the
  // order of totals and rows.
  WeightedSearch(const WeightedBounds &bounds, bool self_join, const StopFlag &stop, MemoryCounter &memory)
      : bounds_(bounds), self_join_(self_join), stop_(stop), seen_in_(memory), candidates_(memory) {}

  // Turns to another index. All candidates have been verified.
  void turn_to(const WeightedIndex &index);
  // Hands over the pairs of the probes [begin, end).
  void search(const WeightedSets &probes, uint32_t begin, uint32_t end, ResultWriter &writer,
              MemoryCounter &memory, JoinCounters &counters);
  // Hands over those of the pairs that qualify, which are pairs of `probes` and `partners`. Their figures are
  // those of their verification alone.
  void verify_pairs(const WeightedSets &probes, const WeightedSets &partners,
                    std::span<const WeightedPair> pairs, ResultWriter &writer, MemoryCounter &memory,
                    JoinCounters &counters);
  // Returns the number of candidates of the probes [begin, end), without a look at them.
  uint64_t count_candidates(const WeightedSets &probes, uint32_t begin, uint32_t end);

  // Returns the number of pairs of compatible totals so far.
  uint64_t compatible_pairs() const { return compatible_; }
  // Returns the bytes of the search over an index of so many sets.
  static size_t bytes(uint64_t sets) {
    return sets * sizeof(uint32_t) + most_candidates * sizeof(WeightedPair);
  }

 private:
  static constexpr size_t most_candidates = size_t{1} << 12;  // that wait for their verification

  void find(const WeightedSets &probes, uint32_t probe);
  void take_list(uint32_t probe, std::span<const WeightedPosting> postings, uint32_t begin, uint32_t end,
                 double least_excess);
  uint32_t first_of_total(double total) const;
  uint32_t end_of_partners(const WeightedSet &probe) const;
  void take(uint32_t probe, uint32_t partner);
  void end_candidates();
  void verify(std::span<const WeightedPair> pairs);
  void verify_pair(uint32_t probe, uint32_t partner, JoinCounters &counters);
  template <class Find>
  void hand_over(const WeightedSets &probes, const WeightedSets &partners, ResultWriter &writer,
                 MemoryCounter &memory, JoinCounters &counters, Find &&find);

  const WeightedBounds &bounds_;
  const bool self_join_;
  const StopFlag &stop_;
  const WeightedIndex *index_ = nullptr;
  Buffer<uint32_t> seen_in_;  // by index set: the number of the search that took it as a candidate last
  uint32_t searches_ = 0;
  std::vector<double> rests_;  // of the probe: the mass of each token and those after it
  Buffer<WeightedPair> candidates_;
  uint64_t compatible_ = 0;
  uint64_t found_ = 0;  // candidates
  // Of the call under way.
  const WeightedSets *probes_ = nullptr;
  const WeightedSets *partners_ = nullptr;
  CandidateSink *sink_ = nullptr;
  JoinCounters *counters_ = nullptr;  // null if candidates are only counted
};

}  // namespace simjoin
