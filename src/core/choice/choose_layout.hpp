// The width of the bitmaps for sets of some sizes, from a sample of their pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/worker_pool.hpp"
#include "core/candidates/bitmap/bitmap_signature.hpp"
#include "core/choice/pair_sample.hpp"

namespace simjoin {

// The cost of a pair through bitmaps of a layout, in nanoseconds of one thread. It includes the verification
// of the share `rate` of pairs that bitmaps do not rule out.
struct BitmapCost {
  SignatureLayout layout;
  double pair_ns = 0;
  double rate = 0;
};

// Returns the layout that makes the pairs of a band cheapest.
BitmapCost choose_layout(const JoinProblem &problem, const SizeBand &band, const StopFlag &stop);

// Returns the cost of the pairs of a band through bitmaps of `layout`.
BitmapCost cost_of_layout(const JoinProblem &problem, const SizeBand &band, const SignatureLayout &layout,
                          const StopFlag &stop);

// Returns the words of the widest layout that choose_layout() tries for sets of `size` tokens.
uint32_t widest_layout_words(uint32_t size);

// Returns the least cost of a pair through bitmaps, for any sets.
double least_bitmap_pair_ns();

}  // namespace simjoin
