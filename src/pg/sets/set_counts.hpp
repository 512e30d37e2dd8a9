// How many tokens two sets share.
#pragma once

#include "pg/base/pg.hpp"

#include <cstdint>

#include "pg/sets/set_codec.hpp"

namespace simjoin::pg {

// The number of distinct tokens that two sets share, and that each has.
struct SetCounts {
  int64_t overlap;
  int64_t left;
  int64_t right;
};

// Counts the tokens of two sets of one token type. Processes interrupts.
SetCounts count_sets(const SetView &left, const SetView &right);

}  // namespace simjoin::pg
