// What kernels do in a millisecond, for choices between them on the device and for the size of launches; what
// whole computations take, which the choice of the device needs, stands in core/base/costs.hpp. All of an
// H200.
#pragma once

#include <cstdint>

namespace simjoin::gpu::tuning {

// Pairs of 256-bit signatures that each kernel of the bitmap filter compares, launches and candidates
// included, and list entries that the prefix filter visits; DBLP-shaped sets.
inline constexpr double warpgroup_pairs_per_ms = 10e9;
inline constexpr double warp_pairs_per_ms = 7e9;
inline constexpr double popcount_pairs_per_ms = 0.35e9;
inline constexpr double list_entries_per_ms = 5e7;
// An entry of longer sets costs more, growing with the square of the size: twice as much at this one.
inline constexpr double list_entry_size = 64;
// Signatures tell sets of up to this size apart badly: what their candidates take, by pairs compared.
inline constexpr uint32_t tiny_size = 8;
inline constexpr double tiny_pairs_per_ms = 2e9;
// Tokens of candidates that the bitmap filter leaves and that are verified, on average, and what a pair takes
// however short its sets are, in tokens: most candidates are given up before their sets' ends.
inline constexpr double survivor_tokens_per_ms = 5e8;
inline constexpr double survivor_pair_tokens = 40;
// Building an index.
inline constexpr double index_start_ms = 0.5;
inline constexpr double index_tokens_per_ms = 5e6;
// The least that launches of the verification do, by which they are sized: tokens, and what a pair takes
// however short its sets are; kosarak at 0.5, 17 million pairs of 8 tokens in 6 ms.
inline constexpr double verified_tokens_per_ms = 4e7;
inline constexpr double verified_pair_tokens = 8;
// The same of list entries that are counted, and of items however few their entries are: some microseconds
// each, in as many blocks as run at a time.
inline constexpr double counted_entries_per_ms = 8e7;
inline constexpr double counting_items_per_ms = 1 << 16;
// Device memory that a join takes at its peak: DBLP-shaped sets (22 bytes a token of int4), rounded up.
// Tokens of 8 bytes are sorted to be ranked.
inline constexpr double bytes_per_token = 24;
inline constexpr double bytes_per_wide_token = 40;
inline constexpr double bytes_per_row = 64;

}  // namespace simjoin::gpu::tuning
