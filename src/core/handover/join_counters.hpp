// What one worker has done so far, added up over workers for the statistics.
#pragma once

#include <cstdint>

#include "core/base/thread_clock.hpp"

namespace simjoin {

struct JoinCounters {
  using Clock = ThreadClock;

  uint64_t after_prefix = 0;
  uint64_t after_positional = 0;
  uint64_t after_bitmap = 0;
  uint64_t verified = 0;
  uint64_t left_out = 0;
  uint64_t output = 0;
  Clock::duration filter{};  // CPU time
  Clock::duration verify{};

  JoinCounters &operator+=(const JoinCounters &other) {
    after_prefix += other.after_prefix;
    after_positional += other.after_positional;
    after_bitmap += other.after_bitmap;
    verified += other.verified;
    left_out += other.left_out;
    output += other.output;
    filter += other.filter;
    verify += other.verify;
    return *this;
  }
};

}  // namespace simjoin
