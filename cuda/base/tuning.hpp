// Rates of the kernels per millisecond, all of an H200. They serve choices between kernels and the sizes of
// launches. Costs of whole computations, for the choice of the device, are in core/base/costs.hpp.
#pragma once

#include <cstdint>

namespace simjoin::gpu::tuning {

// Pairs of 256-bit signatures that each kernel of the bitmap filter compares, including launches and
// candidates, and list entries that the prefix filter visits. Measured on DBLP-shaped sets.
inline constexpr double warpgroup_pairs_per_ms = 10e9;
inline constexpr double warp_pairs_per_ms = 7e9;
inline constexpr double popcount_pairs_per_ms = 0.35e9;
inline constexpr double list_entries_per_ms = 5e7;
// The time of each further step of 256 bits on tensor cores, as a multiple of the time of the first. It is
// less than 1 because the counts are looked at once.
inline constexpr double further_step = 0.35;
// Groups of partners that pass and are looked at member by member. Measured on DBLP-shaped sets: with 2e6 the
// filter takes up to 4 % longer.
inline constexpr double passing_groups_per_ms = 6e5;
// Groups are chosen by samples where comparing pair by pair takes at least so long: in all, and for the parts
// of the collection that have a sample each. Sizes grow at least by this factor from part to part. A sample
// takes some 0.1 ms for each size of groups.
inline constexpr double least_grouped_ms = 6;
inline constexpr double least_part_ms = 1.5;
inline constexpr double part_growth = 1.15;
// The cost of an entry grows with the square of the set size. At this size it is twice that of a small set.
inline constexpr double list_entry_size = 64;
// Signatures separate sets of up to `tiny_size` tokens badly. The second constant is the cost of their
// candidates, in compared pairs.
inline constexpr uint32_t tiny_size = 8;
inline constexpr double tiny_pairs_per_ms = 2e9;
// Average verification of a candidate that the bitmap filter leaves. Most candidates are given up before
// their sets end. A pair costs `survivor_pair_tokens` tokens, however short its sets are.
inline constexpr double survivor_tokens_per_ms = 5e8;
inline constexpr double survivor_pair_tokens = 40;
// The cost of building an index.
inline constexpr double index_start_ms = 0.5;
inline constexpr double index_tokens_per_ms = 5e6;
// Lower bounds of the rates of the verification, by which its launches are sized. A pair costs
// `verified_pair_tokens` tokens, however short its sets are. Measured on kosarak at 0.5: 17 million pairs of
// 8 tokens in 6 ms.
inline constexpr double verified_tokens_per_ms = 4e7;
inline constexpr double verified_pair_tokens = 8;
// The same for counting list entries. An item costs some microseconds, however few its entries are, and as
// many items run at a time as blocks.
inline constexpr double counted_entries_per_ms = 8e7;
inline constexpr double counting_items_per_ms = 1 << 16;
// Device memory of a join at its peak, on sets of the shape of livejournal (9.5 bytes per int4 token),
// rounded up. Tokens of 8 bytes need more, because they are hashed to be ranked.
inline constexpr double bytes_per_token = 10;
inline constexpr double bytes_per_wide_token = 40;
inline constexpr double bytes_per_row = 64;
// Sets have numbers of 32 bits, and tokens are ranked by counts of 32 bits: a join has fewer of each than
// this.
inline constexpr uint64_t most_join_items = UINT32_MAX;

}  // namespace simjoin::gpu::tuning
