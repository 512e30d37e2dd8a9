// Which sets of a collection are compared: the pairs of compatible sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/measure.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// The two sides of a join; in a self-join both are the same.
struct ComparedSets {
  const Bounds &bounds;
  const DeviceSide &probes;
  const DeviceSide &partners;
  bool self_join;
};

// Probes of one signature width and all their possible partners, with that width.
struct BitmapRange {
  PlanRange plan;
  uint32_t steps;
};

// Returns the widths of signatures that suit sets of this average size.
SignatureWidths widths_for(const Bounds &bounds, double average_size);

// Returns the number of pairs of compatible sizes.
uint64_t compatible_pairs(const ComparedSets &sets);

// Returns one range of probes for each signature width, with all their possible partners. Pairs of sets
// before the border are left out: of the later set in a self-join, of the left set otherwise.
std::vector<BitmapRange> bitmap_ranges(const ComparedSets &sets, const SignatureWidths &widths,
                                       uint32_t border);

}  // namespace simjoin::gpu
