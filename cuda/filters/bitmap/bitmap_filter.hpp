// The all-pairs bitmap filter: binary tensor cores, or the ordinary ones where there are none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/measure.hpp"
#include "cuda/base/device.hpp"
#include "cuda/filters/bitmap/bitmap_kernel.hpp"
#include "cuda/filters/candidates.hpp"
#include "cuda/filters/least_overlap.hpp"
#include "cuda/filters/signatures.hpp"
#include "cuda/sets/collection.hpp"

namespace simjoin::gpu {

// Probes that one thread block compares with a range of partners at a time.
inline constexpr uint32_t tile_probes = 512;
// Every item has this many pairs or a multiple.
inline constexpr uint32_t least_segment = 512;
// A tile of wider signatures does not fit in shared memory.
inline constexpr uint32_t widest_warpgroup_steps = 4;
inline constexpr uint64_t least_item_pairs = uint64_t{tile_probes} * least_segment;

// A tile of probes and its partners; numbers are relative to the signature tables.
struct ProbeTile {
  uint32_t probe;
  uint32_t partner;  // a multiple of signature_block
  uint32_t partner_end;
  uint32_t first_item;  // work items are segments of the partners, numbered through all tiles
};

// All pairs of a range of probes with their partners of compatible size, cut into items.
struct TilePlan {
  std::vector<ProbeTile> tiles;
  uint32_t segment = 0;  // partners an item
  uint32_t items = 0;
  double pairs = 0;  // that the items compare

  double pairs_an_item() const { return static_cast<double>(tile_probes) * segment; }
};

// Probes [begin, end) of a side, and partners [partner_begin, partner_end) of another.
struct PlanRange {
  uint32_t begin, end;
  uint32_t partner_begin, partner_end;
  uint32_t partner_from;  // no pair has a partner before it; partner_begin is where their signatures begin
};

// Plans a range, no item with more than `most_pairs` pairs (at least least_item_pairs). In a self-join
// partners come no earlier than their probe's tile. Throws limit_exceeded where there are too many items to
// number.
TilePlan plan_tiles(const Bounds &bounds, const DeviceSide &probes, const DeviceSide &partners,
                    bool self_join, const PlanRange &range, int processors, uint64_t most_pairs);

// Returns the kernel that the device runs where this one is asked for.
BitmapKernel kernel_for(const Device &device, BitmapKernel wanted);

// Items [begin_item, end_item) of a plan.
struct BitmapJob {
  LeastOverlap least_overlap;
  SignatureView probes;
  SignatureView partners;
  const ProbeTile *tiles;
  uint32_t tile_count;
  uint32_t segment;
  bool self_join;
  uint32_t partner_from;  // in the side's numbers
  uint32_t begin_item;
  uint32_t end_item;
  CandidateView candidates;
};

// Compares the items and appends the pairs that may qualify, with partners from `partner_from` on, to the
// candidates. Signatures too wide for the warpgroup kernel are the warp kernel's.
void launch_filter(Device &device, BitmapKernel kernel, const BitmapJob &job);

}  // namespace simjoin::gpu
