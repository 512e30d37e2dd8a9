// Which pairs a caller wants that asks only whether rows have partners (JoinSpec::done_rows).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/join.hpp"

namespace simjoin {

// Shared by the engine's threads, which run ahead of the caller by more pairs than a row of a family of
// copies has: so a row is handed over a few pairs at first, and by the time that the caller has looked at
// them it is probably done. Counts are approximate where threads meet: a pair is then handed over sooner or
// later than it would have been.
//
// Pairs are (first row, second row): in a self-join the probe's and the partner's, else the left and the
// right one. A row of a self-join has some pairs in either role, since a filter like b.id < a.id may be met
// in one of them only.
class PairDemand {
 public:
  enum class Answer : uint8_t { never, later, now };

  // Pairs that a row is handed over at first, in each role: those of 20,000 copies take a tenth of a second,
  // and a filter that half the partners meet in random order leaves few rows that need more.
  static constexpr uint32_t first_pairs = 32;
  // Where those were not enough.
  static constexpr uint32_t no_limit = UINT32_MAX;

  // `postpones`: pairs for later are noted by their rows, not kept, since the join can be done again for
  // these.
  PairDemand(const DoneRows &done, bool self_join, bool postpones, uint32_t left_rows, MemoryCounter &memory)
      : done_(done),
        self_join_(self_join),
        both_rows_(self_join),
        postpones_(postpones),
        handed_over_{Buffer<uint8_t>(memory, left_rows, 0), Buffer<uint8_t>(memory)},
        postponed_(memory) {
    if (self_join) handed_over_[1].resize(left_rows, 0);
    if (postpones) postponed_.resize(left_rows, 0);
  }

  // Returns whether the pair is wanted now, by a row that has had fewer than `limit` pairs; later, by one
  // that is not done yet; or never.
  Answer ask(uint32_t first, uint32_t second, uint32_t limit) {
    const bool both = asks_for_both(second);
    if (both && !both_rows_ && first < second) return Answer::never;  // comes as (second, first), too
    const Answer answer = ask(handed_over_[0], first, limit);
    if (!both || answer == Answer::now) return answer;
    return std::max(answer, ask(handed_over_[1], second, limit));
  }

  // Notes that the pair is handed over.
  void note(uint32_t first, uint32_t second) {
    count(handed_over_[0][first]);
    if (asks_for_both(second)) count(handed_over_[1][second]);
  }

  bool postpones() const { return postpones_; }
  void postpone(uint32_t first, uint32_t second) {
    postpone(first);
    if (both_rows_) postpone(second);
  }

  // Ends postponing, while no thread asks. Returns, by row, whether it is not done and has had pairs
  // postponed, and how many rows there are of these: they are to be the first rows of all their pairs. Of
  // those between two of them each is wanted one way round only.
  const Buffer<uint8_t> &end_postponing(uint32_t &count) {
    both_rows_ = postpones_ = false;
    count = 0;
    for (uint32_t row = 0; row < postponed_.size(); ++row) {
      postponed_[row] &= !done_.is_done(row);
      count += postponed_[row];
    }
    return postponed_;
  }

 private:
  static constexpr uint8_t done = UINT8_MAX;
  static constexpr uint8_t most = done - 1;  // and more

  bool asks_for_both(uint32_t second) const {
    return both_rows_ || (self_join_ && !postpones_ && postponed_[second] != 0);
  }
  Answer ask(Buffer<uint8_t> &handed_over, uint32_t row, uint32_t limit) const {
    const std::atomic_ref count(handed_over[row]);
    const uint8_t pairs = count.load(std::memory_order_relaxed);
    if (pairs == done) return Answer::never;
    if (done_.is_done(row)) {
      count.store(done, std::memory_order_relaxed);
      return Answer::never;
    }
    return pairs < limit ? Answer::now : Answer::later;
  }
  static void count(uint8_t &handed_over) {
    const std::atomic_ref count(handed_over);
    const uint8_t pairs = count.load(std::memory_order_relaxed);
    if (pairs < most) count.store(static_cast<uint8_t>(pairs + 1), std::memory_order_relaxed);
  }
  void postpone(uint32_t row) {
    const std::atomic_ref postponed(postponed_[row]);
    if (postponed.load(std::memory_order_relaxed) == 0) postponed.store(1, std::memory_order_relaxed);
  }

  const DoneRows &done_;
  const bool self_join_;
  bool both_rows_;  // of every pair count
  bool postpones_;
  Buffer<uint8_t> handed_over_[2];  // by role and row; `done` for a row that is
  Buffer<uint8_t> postponed_;       // by row
};

}  // namespace simjoin
