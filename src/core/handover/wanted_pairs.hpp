// The pairs that a caller wants if it asks only whether rows have partners (JoinSpec::done_rows).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/base/check.hpp"
#include "core/base/memory.hpp"
#include "core/join.hpp"

namespace simjoin {

// Shared by the engine's threads, which run ahead of the caller by more pairs than a row in a family of
// copies has. So a row gets a few pairs at first. Once the caller has looked at them, the row is probably
// done. Counts are approximate if threads meet: a pair is then handed over sooner or later.
//
// Pairs are (first row, second row): the probe's and the partner's in a self-join, otherwise the left and the
// right one. A row of a self-join gets some pairs in each role, since a filter like b.id < a.id may pass in
// one role only.
class WantedPairs {
 public:
  enum class Answer : uint8_t { never, later, now };

  // The pairs that a row gets at first, in each role. Those of 20,000 copies take a tenth of a second. If
  // half the partners pass a filter, in random order, few rows need more.
  static constexpr uint32_t first_pairs = 32;
  // The limit for rows that need more.
  static constexpr uint32_t no_limit = UINT32_MAX;

  // With `postpones`, pairs for later are noted by their rows and not kept, since the join can be repeated
  // for these rows.
  WantedPairs(const DoneRows &done, bool self_join, bool postpones, uint32_t left_rows, MemoryCounter &memory)
      : done_(done),
        self_join_(self_join),
        both_rows_(self_join),
        postpones_(postpones),
        handed_over_{Buffer<uint8_t>(memory, left_rows, 0), Buffer<uint8_t>(memory)},
        postponed_(memory) {
    if (self_join) handed_over_[1].resize(left_rows, 0);
    if (postpones) postponed_.resize(left_rows, 0);
  }

  // Returns `now` if a row that has had fewer than `limit` pairs wants the pair, `later` if a row that is not
  // done may want it, and otherwise `never`.
  Answer ask(uint32_t first, uint32_t second, uint32_t limit) {
    const bool both = asks_for_both(second);
    if (both && !both_rows_ && first < second) return Answer::never;  // comes as (second, first), too
    const Answer answer = ask(handed_over_[0], first, limit);
    if (!both || answer == Answer::now) return answer;
    return std::max(answer, ask(handed_over_[1], second, limit));
  }

  // Notes that the pair is handed over.
  void note(uint32_t first, uint32_t second) {
    SIMJOIN_CHECK(first < handed_over_[0].size());
    count(handed_over_[0][first]);
    if (asks_for_both(second)) count(handed_over_[1][second]);
  }

  bool postpones() const { return postpones_; }
  void postpone(uint32_t first, uint32_t second) {
    SIMJOIN_CHECK(postpones_);
    postpone(first);
    if (both_rows_) postpone(second);
  }

  // Ends postponing, while no thread asks. Returns, by row, whether the row is not done and had pairs
  // postponed. Sets `count` to the number of such rows. They are to be the first rows of all their pairs. A
  // pair of two such rows is wanted in one direction only.
  const Buffer<uint8_t> &end_postponing(uint32_t &count) {
    SIMJOIN_CHECK(postpones_);  // called once
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
  static constexpr uint8_t most = done - 1;  // `most` pairs or more

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
  bool both_rows_;  // whether both rows of every pair count
  bool postpones_;
  Buffer<uint8_t> handed_over_[2];  // by role and row; `done` if the row is done
  Buffer<uint8_t> postponed_;       // by row
};

}  // namespace simjoin
