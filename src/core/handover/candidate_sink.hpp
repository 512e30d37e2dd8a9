// The way of one worker's candidates: to the caller, or to wait if the caller may not need them.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/handover/join_counters.hpp"
#include "core/handover/result_queue.hpp"
#include "core/handover/wanted_pairs.hpp"

namespace simjoin {

// A generator asks for each candidate whether it is wanted now, and emits those that qualify. If the writer
// has a demand, candidates for later wait here until the caller has looked at the pairs so far, unless they
// are postponed.
class CandidateSink {
 public:
  // Verifies a pair and, if it qualifies, emits it.
  using Verify = std::function<void(uint32_t probe, uint32_t partner, JoinCounters &counters)>;

  // `probe_rows` and `partner_rows` are the rows of the sets by number; null if the numbers are the rows.
  // `verify` is called for pairs that have waited.
  CandidateSink(ResultWriter &writer, const uint32_t *probe_rows, const uint32_t *partner_rows, Verify verify,
                const StopFlag &stop, MemoryCounter &memory)
      : writer_(writer),
        all_wanted_(!writer.has_demand()),
        probe_rows_(probe_rows),
        partner_rows_(partner_rows),
        verify_(std::move(verify)),
        stop_(stop),
        pairs_(memory) {}

  // Returns whether every candidate is wanted.
  bool wants_all() const { return all_wanted_; }
  // Returns whether the generator is to verify the candidate. If not, the candidate is left out or waits.
  bool wants(uint32_t probe, uint32_t partner, JoinCounters &counters) {
    return all_wanted_ || is_wanted_now(probe, partner, counters);
  }
  void emit(uint32_t probe, uint32_t partner, uint32_t overlap) {
    writer_.emit(row_of_probe(probe), row_of_partner(partner), overlap);
  }
  // The same for a pair of a weighted join.
  void emit_similarity(uint32_t probe, uint32_t partner, double similarity) {
    writer_.emit_similarity(row_of_probe(probe), row_of_partner(partner), similarity);
  }

  // The following are for sinks that do not want all candidates. Return whether candidates for later are
  // postponed, and whether partners are asked before probes.
  bool postpones() const { return writer_.postpones(); }
  bool asks_partners_first() const { return writer_.index_first(); }
  // Postpones the pairs of a set of the index side in a self-join, in both roles.
  void postpone_set(uint32_t partner) { writer_.postpone(row_of_partner(partner), row_of_partner(partner)); }
  // Waits for the caller, and verifies those waiting pairs that are still wanted.
  void settle(JoinCounters &counters);

 private:
  struct Pair {
    uint32_t probe;
    uint32_t partner;
  };
  // So many that waiting for the caller (some 20 us if cores are free) does not count.
  static constexpr size_t most_pairs = size_t{1} << 15;

  uint32_t row_of_probe(uint32_t probe) const { return probe_rows_ == nullptr ? probe : probe_rows_[probe]; }
  uint32_t row_of_partner(uint32_t partner) const {
    return partner_rows_ == nullptr ? partner : partner_rows_[partner];
  }
  bool is_wanted_now(uint32_t probe, uint32_t partner, JoinCounters &counters) {
    const WantedPairs::Answer answer = ask({probe, partner}, WantedPairs::first_pairs);
    if (answer == WantedPairs::Answer::now) return true;
    if (answer == WantedPairs::Answer::later && !postpones()) {
      hold({probe, partner}, counters);
      return false;
    }
    if (answer == WantedPairs::Answer::later) writer_.postpone(row_of_probe(probe), row_of_partner(partner));
    ++counters.left_out;
    return false;
  }
  WantedPairs::Answer ask(Pair pair, uint32_t limit) const {
    return writer_.ask(row_of_probe(pair.probe), row_of_partner(pair.partner), limit);
  }
  void hold(Pair pair, JoinCounters &counters) {
    SIMJOIN_CHECK(!all_wanted_ && !postpones());
    pairs_.push_back(pair);
    if (pairs_.size() >= most_pairs) settle(counters);
  }
  void shuffle();

  ResultWriter &writer_;
  const bool all_wanted_;
  const uint32_t *const probe_rows_;
  const uint32_t *const partner_rows_;
  const Verify verify_;
  const StopFlag &stop_;
  Buffer<Pair> pairs_;
  uint64_t random_ = 0x9E3779B97F4A7C15u;
};

}  // namespace simjoin
