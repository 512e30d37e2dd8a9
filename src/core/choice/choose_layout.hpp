// The width of the bitmaps for sets of some sizes, from a sample of their pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/candidates/bitmap/bitmap_signature.hpp"
#include "core/choice/pair_sample.hpp"

namespace simjoin {

// What a pair costs through bitmaps of a layout, in nanoseconds of one thread, verification of the share
// `rate` that they leave included.
struct BitmapCost {
  SignatureLayout layout;
  double pair_ns = 0;
  double rate = 0;
};

// Returns the layout that makes the pairs of a band cheapest.
BitmapCost choose_layout(const JoinProblem &problem, const SizeBand &band, const StopFlag &stop);

// Returns what the pairs of a band cost through bitmaps of this layout.
BitmapCost cost_of_layout(const JoinProblem &problem, const SizeBand &band, const SignatureLayout &layout,
                          const StopFlag &stop);

// Returns the words of the widest layout that choose_layout() tries for sets of a size.
uint32_t widest_layout_words(uint32_t size);

// Returns the least that a pair can cost through bitmaps, whatever the sets.
double least_bitmap_pair_ns();

}  // namespace simjoin
