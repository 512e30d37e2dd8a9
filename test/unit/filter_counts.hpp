// Checks of the figures of a join's filters, for GoogleTest.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "core/join.hpp"

namespace simjoin::test {

// Each filter leaves no more pairs than the one before it, on whatever part of the sets it ran.
inline void expect_filters_never_add(const JoinStats &stats) {
  EXPECT_GE(stats.pairs, stats.after_length);
  uint64_t before = stats.after_length;
  if (stats.used_prefix) {
    EXPECT_GE(before, stats.after_prefix);
    EXPECT_GE(stats.after_prefix, stats.after_positional);
    before = stats.after_positional;
  }
  if (stats.used_bitmap) {
    EXPECT_GE(before, stats.after_bitmap);
    before = stats.after_bitmap;
  }
  EXPECT_GE(before, stats.verified);
  EXPECT_GE(stats.verified, stats.output);
}

}  // namespace simjoin::test
