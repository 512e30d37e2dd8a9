// The counts and times of one worker, added up over workers for the statistics.
#pragma once

#include "core/base/thread_clock.hpp"
#include "core/join.hpp"

namespace simjoin {

struct JoinCounters : PairCounts {
  using Clock = ThreadClock;

  Clock::duration filter{};  // CPU time
  Clock::duration verify{};

  JoinCounters &operator+=(const JoinCounters &other) {
    static_assert(sizeof(JoinCounters) == sizeof(PairCounts) + sizeof filter + sizeof verify);
    PairCounts::operator+=(other);
    filter += other.filter;
    verify += other.verify;
    return *this;
  }
};

}  // namespace simjoin
