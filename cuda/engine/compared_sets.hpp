// Which sets of a collection are compared: the pairs of compatible sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/measure.hpp"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/filters/group_signatures.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// The two sides of a join; in a self-join both are the same.
struct ComparedSets {
  const Bounds &bounds;
  const DeviceSide &probes;
  const DeviceSide &partners;
  bool self_join;
};

// Probes that are compared alike, and all their possible partners.
struct BitmapRange {
  PlanRange plan;
  uint32_t steps;      // of signatures that are compared pair by pair
  uint32_t group = 1;  // partners that are compared with a probe at once, by the bits of all of them

  // Returns the steps of the signatures that are compared.
  uint32_t width() const { return group > 1 ? std::max(steps, group_steps) : steps; }
};

// Returns the widths of signatures that suit sets of this average size.
SignatureWidths widths_for(const Bounds &bounds, double average_size);

// Returns the number of pairs of compatible sizes.
uint64_t compatible_pairs(const ComparedSets &sets);

// Returns the probes [begin, end) with all their possible partners, if any. `border` is as in
// bitmap_ranges().
PlanRange range_of(const ComparedSets &sets, uint32_t begin, uint32_t end, uint32_t border);

// Probes [begin, end) of a range, and their pairs.
struct RangePart {
  uint32_t begin, end;
  double pairs = 0;
};

// Returns the parts of a range, in order. All but the last have `least_pairs` pairs or more, and between
// their first sizes is a factor of more than `growth`.
std::vector<RangePart> cut_range(const ComparedSets &sets, const PlanRange &range, double least_pairs,
                                 double growth);

// Tables of signatures take at most this share of the device memory that is left, where they can be smaller.
inline constexpr double table_share = 0.25;

// Returns the device memory of the signatures of a range.
double signature_bytes(const ComparedSets &sets, const PlanRange &range, double steps);

// Returns the device memory of all tables of a range, those of groups included.
double table_bytes(const ComparedSets &sets, const BitmapRange &range);

// Returns one range of probes for each signature width, with all their possible partners. Pairs of sets
// before the border are left out: of the later set in a self-join, of the left set otherwise. Signatures of
// more than `warp_steps` steps that would take more than `most_bytes` are narrower: few long sets may have
// very many partners.
std::vector<BitmapRange> bitmap_ranges(const ComparedSets &sets, const SignatureWidths &widths,
                                       uint32_t border, double most_bytes);

}  // namespace simjoin::gpu
