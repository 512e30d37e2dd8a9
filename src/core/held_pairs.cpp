#include "core/held_pairs.hpp"

#include <utility>

namespace simjoin {

// Puts the pairs into another order: partners come in the order of their sets, often that of rows, in which
// the ones that meet a filter like b.id > a.id all stand at the end.
void HeldPairs::shuffle() {
  for (size_t i = pairs_.size(); i > 1; --i) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    std::swap(pairs_[i - 1], pairs_[random_ % i]);
  }
}

// Rows whose first pairs were not enough get ever more of them, until none is held back.
void HeldPairs::settle(JoinCounters &counters) {
  constexpr size_t check_interval = 256;
  shuffle();
  for (uint32_t limit = PairDemand::first_pairs; !pairs_.empty();) {
    writer_.settle();
    limit *= PairDemand::growth;
    size_t kept = 0;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (i % check_interval == 0) stop_.check();
      const Pair pair = pairs_[i];
      const PairDemand::Answer answer = ask(pair, limit);
      if (answer == PairDemand::Answer::never) ++counters.left_out;
      if (answer == PairDemand::Answer::later) pairs_[kept++] = pair;
      if (answer == PairDemand::Answer::now) verify_(pair.probe, pair.partner, counters);
    }
    pairs_.resize(kept);
  }
}

}  // namespace simjoin
