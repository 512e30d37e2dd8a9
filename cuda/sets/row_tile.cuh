// Rows that a warp sorts together.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/base/launch.cuh"
#include "cuda/sets/longest_rows.cuh"

namespace simjoin::gpu {

// A tile has whole rows, of up to `tile_tokens` tokens in all. Each lane sorts `tile_items` of them.
inline constexpr int tile_items = 16;
inline constexpr uint32_t tile_tokens = tile_items * warp_threads;
inline constexpr int tile_bits = std::bit_width(tile_tokens - 1);

// What a warp shares about its tile. Places are relative to the tile's first token.
struct Tile {
  uint32_t heads[tile_items];     // a bit for each place where a row starts
  uint16_t row_at[tile_tokens];   // by the place where a row starts: the row, relative to the tile's first
  uint16_t repeats[tile_tokens];  // by place: repeats before it
  uint32_t sorted[tile_tokens + warp_threads];

  // Returns the address in `sorted` of a place. The lanes' runs of places begin in different banks.
  static __device__ uint32_t padded(uint32_t place) { return place + place / tile_items; }
};

// Sorts the keys of a warp by a bitonic network. Lane l gets the keys with numbers from l * tile_items on.
// Each merge begins with comparisons of keys that mirror each other, so that all comparisons ascend.
template <typename Key>
__device__ inline void sort_by_warp(Key (&keys)[tile_items]) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const auto order = [&](uint32_t i, uint32_t k) {
    const Key a = keys[i], b = keys[k];
    keys[i] = min(a, b);
    keys[k] = max(a, b);
  };
  const auto exchange = [&](uint32_t i, Key other, uint32_t lanes) {
    keys[i] = (lane & lanes) == 0 ? min(keys[i], other) : max(keys[i], other);
  };
#pragma unroll
  for (uint32_t size = 2; size <= tile_tokens; size *= 2) {
    if (size <= tile_items) {
#pragma unroll
      for (uint32_t i = 0; i < tile_items; ++i) {
        if ((i & size / 2) == 0) order(i, i ^ (size - 1));
      }
    } else {
      const uint32_t lanes = size / tile_items;
#pragma unroll
      for (uint32_t i = 0; i < tile_items / 2; ++i) {
        const uint32_t k = tile_items - 1 - i;
        const Key low = __shfl_xor_sync(~0u, keys[k], lanes - 1);
        const Key high = __shfl_xor_sync(~0u, keys[i], lanes - 1);
        exchange(i, low, lanes / 2);
        exchange(k, high, lanes / 2);
      }
    }
#pragma unroll
    for (uint32_t distance = size / 4; distance > 0; distance /= 2) {
#pragma unroll
      for (uint32_t i = 0; i < tile_items; ++i) {
        if (distance >= tile_items) {
          exchange(i, __shfl_xor_sync(~0u, keys[i], distance / tile_items), distance / tile_items);
        } else if ((i & distance) == 0) {
          order(i, i | distance);
        }
      }
    }
  }
}

// Notes where the rows [row, end) start.
__device__ inline void note_rows(const RowsView &rows, uint32_t row, uint32_t end, Tile &tile) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t base = rows.starts[row];
  if (lane < tile_items) tile.heads[lane] = 0;
  __syncwarp();
  for (uint32_t i = row + lane; i < end; i += warp_threads) {
    const auto place = static_cast<uint32_t>(rows.starts[i] - base);
    if (rows.starts[i + 1] - base == place) continue;
    tile.row_at[place] = static_cast<uint16_t>(i - row);
    atomicOr(&tile.heads[place / 32], 1u << place % 32);
  }
  __syncwarp();
}

// Loads the keys of a tile: for each token the place where its row starts, and its rank. Keys behind the
// tile's `tokens` are larger than all others.
template <typename Key>
__device__ inline void load_tile(const RowsView &rows, uint64_t base, uint32_t tokens, const Tile &tile,
                                 Key (&keys)[tile_items]) {
  const uint32_t lane = threadIdx.x % warp_threads, up_to_lane = ~0u >> (31 - lane);
  uint32_t start = 0;
#pragma unroll
  for (uint32_t i = 0; i < tile_items; ++i) {
    const uint32_t place = i * warp_threads + lane;
    keys[i] = place < tokens ? Key{rows.rank(base + place)} : ~Key{0};
  }
#pragma unroll
  for (uint32_t i = 0; i < tile_items; ++i) {
    const uint32_t heads = tile.heads[i], own = heads & up_to_lane;
    const uint32_t own_start = own == 0 ? start : i * warp_threads + 31 - __clz(own);
    if (i * warp_threads + lane < tokens) keys[i] |= Key{own_start} << rows.rank_bits;
    if (heads != 0) start = i * warp_threads + 31 - __clz(heads);
  }
}

// Writes the sorted keys of the tile of the rows from `row` on.
template <typename Key>
__device__ inline void store_tile(const RowsView &rows, uint32_t row, uint64_t base, uint32_t tokens,
                                  Tile &tile, const Key (&keys)[tile_items]) {
  const uint32_t lane = threadIdx.x % warp_threads, first = lane * tile_items, none = rows.none();
  const auto rank_of = [&](Key key) { return static_cast<uint32_t>(key) & none; };
  Key before = __shfl_up_sync(~0u, keys[tile_items - 1], 1), after = __shfl_down_sync(~0u, keys[0], 1);
  if (lane == 0) before = ~keys[0];
  if (lane + 1 == warp_threads) after = ~Key{0};
  uint32_t repeated = 0;  // a bit for each key
#pragma unroll
  for (uint32_t i = 0; i < tile_items; ++i) {
    const Key previous = i == 0 ? before : keys[i == 0 ? 0 : i - 1];
    repeated |= uint32_t{keys[i] == previous && rank_of(keys[i]) != none} << i;
  }
  const bool any = __any_sync(~0u, repeated != 0);
  if (any) {
    uint32_t sum = __popc(repeated);
    for (uint32_t distance = 1; distance < warp_threads; distance *= 2) {
      const uint32_t other = __shfl_up_sync(~0u, sum, distance);
      if (lane >= distance) sum += other;
    }
    if (lane + 1 == warp_threads) atomicAdd(rows.repeats, static_cast<unsigned long long>(sum));
    sum -= __popc(repeated);
#pragma unroll
    for (uint32_t i = 0; i < tile_items; ++i) {
      tile.repeats[first + i] = static_cast<uint16_t>(sum + __popc(repeated & ((1u << i) - 1)));
    }
    __syncwarp();
  }
#pragma unroll
  for (uint32_t i = 0; i < tile_items; ++i) {
    const uint32_t rank = rank_of(keys[i]), place = first + i;
    if (rank == none) continue;
    const auto start = static_cast<uint32_t>(keys[i] >> rows.rank_bits);
    const bool repeats = (repeated >> i & 1) != 0;
    const uint32_t dropped = any ? tile.repeats[place] - tile.repeats[start] : 0;
    if (!repeats) tile.sorted[Tile::padded(place - dropped)] = rank;
    const Key next = i + 1 == tile_items ? after : keys[i + 1 == tile_items ? i : i + 1];
    if (next >> rows.rank_bits == keys[i] >> rows.rank_bits && rank_of(next) != none) continue;
    const uint32_t of = row + tile.row_at[start], gone = dropped + repeats;
    rows.stored[of] = place + 1 - start - gone;
    if (gone != 0) rows.sizes[of] -= gone;
  }
  __syncwarp();
  for (uint32_t place = lane; place < tokens; place += warp_threads) {
    rows.ranks[base + place] = tile.sorted[Tile::padded(place)];
  }
  __syncwarp();
}

}  // namespace simjoin::gpu
