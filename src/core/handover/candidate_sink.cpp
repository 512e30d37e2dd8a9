#include "core/handover/candidate_sink.hpp"

#include <utility>

namespace simjoin {

// Shuffles the pairs. Partners come in the order of their sets, which is often that of rows. In that order,
// all partners that pass a filter like b.id > a.id are at the end.
void CandidateSink::shuffle() {
  for (size_t i = pairs_.size(); i > 1; --i) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    std::swap(pairs_[i - 1], pairs_[random_ % i]);
  }
}

void CandidateSink::settle(JoinCounters &counters) {
  constexpr size_t check_interval = 256;
  shuffle();
  if (!pairs_.empty()) writer_.settle();
  for (size_t i = 0; i < pairs_.size(); ++i) {
    if (i % check_interval == 0) stop_.check();
    const Pair pair = pairs_[i];
    if (ask(pair, WantedPairs::no_limit) == WantedPairs::Answer::now) {
      verify_(pair.probe, pair.partner, counters);
    } else {
      ++counters.left_out;
    }
  }
  pairs_.clear();
}

}  // namespace simjoin
