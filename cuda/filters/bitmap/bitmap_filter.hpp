// The all-pairs bitmap filter, on binary tensor cores or on ordinary cores.
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
// The most steps of signatures with which the probes of a tile fit in shared memory.
inline constexpr uint32_t widest_tile_steps = 4;
// The number of partners of an item is a multiple of this.
inline constexpr uint32_t least_segment = 512;
// The same for wider signatures. Their items have fewer pairs, because those take longer.
inline constexpr uint32_t least_wide_segment = 128;
inline constexpr uint64_t least_item_pairs = uint64_t{tile_probes} * least_segment;

// A tile of probes and its partners, or groups of them. Numbers are relative to the tables that are compared.
struct ProbeTile {
  uint32_t probe;
  uint32_t partner;  // a multiple of signature_block
  uint32_t partner_end;
  uint32_t first_item;  // items are segments of partners, numbered across all tiles
};

// A plan of the comparison of a range of probes with all partners of compatible size, cut into items.
struct TilePlan {
  std::vector<ProbeTile> tiles;
  uint32_t group = 1;    // partners that are compared at once
  uint32_t segment = 0;  // groups per item
  uint32_t items = 0;
  double pairs = 0;  // compared by all items

  double pairs_per_item() const { return static_cast<double>(tile_probes) * segment * group; }
};

// Probes [begin, end) of a side, and partners [partner_begin, partner_end) of another.
struct PlanRange {
  uint32_t begin, end;
  uint32_t partner_begin, partner_end;
  uint32_t partner_from;  // the least partner of a pair; their signatures begin at partner_begin
  uint32_t compared = 0;  // partners from partner_begin on that the first tile's probes were compared with
};

// Returns the plan of a range, with signatures of `steps` steps and groups of `group` partners. No item has
// more than `most_pairs` pairs, which must be least_item_pairs times `group` or more. In a self-join, the
// partners of a tile begin at the tile's first probe. Throws limit_exceeded if there are too many items to
// number.
TilePlan plan_tiles(const Bounds &bounds, const DeviceSide &probes, const DeviceSide &partners,
                    bool self_join, const PlanRange &range, uint32_t steps, uint32_t group, int processors,
                    uint64_t most_pairs);

// Returns the kernel that the device runs if `wanted` is asked for.
BitmapKernel kernel_for(const Device &device, BitmapKernel wanted);

// Items [begin_item, end_item) of a plan.
struct BitmapJob {
  LeastOverlap least_overlap;
  SignatureView probes;
  SignatureView partners;  // or groups of them
  SignatureView parts;     // of the groups
  SignatureView members;   // the partners themselves
  uint32_t group, part;    // members of a group, and of a part; 1 = that table has the partners themselves
  const ProbeTile *tiles;
  uint32_t tile_count;
  uint32_t segment;
  bool self_join;
  uint32_t partner_from;  // in numbers of the side
  uint32_t begin_item;
  uint32_t end_item;
  CandidateView candidates;
  uint64_t most_groups = UINT64_MAX;  // that may pass; if more do, the candidates count as too many
};

// Compares the items and appends the pairs that may qualify to the candidates, with partners from
// `partner_from` on.
void launch_filter(Device &device, BitmapKernel kernel, const BitmapJob &job);

}  // namespace simjoin::gpu
