#include "cuda/sets/row_sort.hpp"

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>

#include "cuda/base/launch.cuh"
#include "cuda/sets/longest_rows.cuh"
#include "cuda/sets/row_tile.cuh"

namespace simjoin::gpu {
namespace {

// Blocks sort the rows that are too long for a tile: the most tokens of a row for each kind of block. Radix
// sorts take longer rows. On an H100 that is 77, 103 and 46 billion numbers a second, and
// tiles are sorted at 145 billion.
constexpr uint32_t medium_tokens = 4096, long_tokens = 16384;
// Rows and tokens, counted together, from which a warp makes its tiles.
constexpr uint64_t share_of_warp = 2048;

// Rows that are too long for warps.
struct LongerRows {
  uint32_t *medium, *longer, *longest;
  uint32_t *counts;  // of the three

  __device__ void add(uint32_t row, uint64_t tokens) const {
    if (tokens <= medium_tokens) {
      medium[atomicAdd(&counts[0], 1u)] = row;
    } else if (tokens <= long_tokens) {
      longer[atomicAdd(&counts[1], 1u)] = row;
    } else {
      longest[atomicAdd(&counts[2], 1u)] = row;
    }
  }
};

// Returns the first row in [low, high) for which before(row) is false, or high. All lanes of a warp take
// part. `before` is true for all smaller rows and false for all larger ones.
template <typename Before>
__device__ uint32_t partition_rows(uint32_t low, uint32_t high, Before before) {
  const uint32_t lane = threadIdx.x % warp_threads;
  while (low < high) {
    const uint32_t step = (high - low - 1) / warp_threads + 1;
    const uint64_t probe = low + uint64_t{step} * (lane + 1) - 1;
    const uint32_t passed = __popc(__ballot_sync(~0u, probe < high && before(static_cast<uint32_t>(probe))));
    const uint64_t first = low + uint64_t{step} * passed;
    high = static_cast<uint32_t>(min(uint64_t{high}, first + step - 1));
    low = static_cast<uint32_t>(min(first, uint64_t{high}));
  }
  return low;
}

// One warp for each share of the rows and their tokens. Keys have the bits of a place and a rank.
template <typename Key>
__global__ void __launch_bounds__(block_threads, sizeof(Key) == 4 ? 4 : 2)
    sort_short_rows(RowsView rows, uint32_t count, uint64_t shares, LongerRows longer) {
  __shared__ Tile tiles[block_warps];
  Tile &tile = tiles[threadIdx.x / warp_threads];
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t share = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; share < shares;
       share += warps) {
    const auto first_of = [&](uint64_t number) {
      return partition_rows(0, count,
                            [&](uint32_t row) { return rows.starts[row] + row < number * share_of_warp; });
    };
    const uint32_t last = first_of(share + 1);
    for (uint32_t row = first_of(share); row < last;) {
      const uint64_t base = rows.starts[row];
      const uint32_t end =
          partition_rows(row, last, [&](uint32_t i) { return rows.starts[i + 1] - base <= tile_tokens; });
      if (end == row) {
        if (threadIdx.x % warp_threads == 0) longer.add(row, rows.starts[row + 1] - base);
        ++row;
        continue;
      }
      const auto tokens = static_cast<uint32_t>(rows.starts[end] - base);
      if (tokens > 0) {
        Key keys[tile_items];
        note_rows(rows, row, end, tile);
        load_tile(rows, base, tokens, tile, keys);
        sort_by_warp(keys);
        store_tile(rows, row, base, tokens, tile, keys);
      }
      row = end;
    }
  }
}

// The sort of a block, and its shared memory.
template <int threads, int items>
struct BlockSort {
  static constexpr int digit_bits = 6;
  using Sort = cub::BlockRadixSort<uint32_t, threads, items, cub::NullType, digit_bits>;
  using Scan = cub::BlockScan<uint32_t, threads>;
  struct Shared {
    union {
      typename Sort::TempStorage sort;
      uint32_t sorted[threads * items + threads * items / warp_threads];
    };
    typename Scan::TempStorage scan;
    uint32_t last[threads];  // of the sorted keys of each thread
  };
};

// One block per listed row, which has at most threads * items tokens.
template <int threads, int items>
__global__ void __launch_bounds__(threads)
    sort_long_rows(RowsView rows, const uint32_t *list, const uint32_t *count) {
  using Block = BlockSort<threads, items>;
  extern __shared__ __align__(16) char memory[];
  auto &shared = *reinterpret_cast<typename Block::Shared *>(memory);
  const auto padded = [](uint32_t place) { return place + place / warp_threads; };
  const uint32_t thread = threadIdx.x, none = rows.none();
  for (uint32_t number = blockIdx.x; number < *count; number += gridDim.x) {
    const uint32_t row = list[number];
    const uint64_t base = rows.starts[row];
    const auto tokens = static_cast<uint32_t>(rows.starts[row + 1] - base);
    uint32_t keys[items];
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const uint32_t place = i * threads + thread;
      keys[i] = place < tokens ? rows.rank(base + place) : none;
    }
    typename Block::Sort(shared.sort).Sort(keys, 0, rows.rank_bits);
    shared.last[thread] = keys[items - 1];
    __syncthreads();
    uint32_t previous = thread == 0 ? none : shared.last[thread - 1];
    uint32_t kept = 0, repeats = 0;
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const bool ranked = keys[i] != none, repeated = ranked && keys[i] == previous;
      previous = keys[i];
      kept += ranked && !repeated;
      repeats += repeated;
    }
    // Both sums are below 65,536, so they are added in one number.
    uint32_t before, all;
    typename Block::Scan(shared.scan).ExclusiveSum(kept | repeats << 16, before, all);
    uint32_t place = before & 0xFFFF;
    previous = thread == 0 ? none : shared.last[thread - 1];
#pragma unroll
    for (int i = 0; i < items; ++i) {
      if (keys[i] != none && keys[i] != previous) shared.sorted[padded(place++)] = keys[i];
      previous = keys[i];
    }
    __syncthreads();
    const uint32_t stored = all & 0xFFFF, dropped = all >> 16;
    for (uint32_t i = thread; i < stored; i += threads) rows.ranks[base + i] = shared.sorted[padded(i)];
    if (thread == 0) {
      rows.stored[row] = stored;
      if (dropped > 0) {
        rows.sizes[row] -= dropped;
        atomicAdd(rows.repeats, static_cast<unsigned long long>(dropped));
      }
    }
    __syncthreads();
  }
}

template <int threads, int items>
void launch_blocks(Device &device, const RowsView &rows, const DeviceBuffer<uint32_t> &list,
                   const uint32_t *count) {
  static_assert(threads * items < 1 << 16);
  const uint64_t most = static_cast<uint64_t>(device.processors()) * (2048 / threads);
  const LaunchShape shape(static_cast<unsigned>(std::min<uint64_t>(list.size(), most)), threads,
                          sizeof(typename BlockSort<threads, items>::Shared));
  launch(device, sort_long_rows<threads, items>, shape, rows, list.data(), count);
}

// Counters that the host reads once all but the longest rows are sorted.
struct SortCounters {
  unsigned long long repeats;
  uint32_t listed[3];
};

}  // namespace

void sort_rows(Device &device, RowSets &sets, uint32_t ranks, uint64_t unranked, const StopFlag &stop) {
  const uint64_t tokens = sets.ranks.size();
  sets.stored = DeviceBuffer<uint32_t>(device, sets.rows);
  sets.stored.fill(0);
  DeviceBuffer<SortCounters> counters(device, 1);
  counters.fill(0);
  const int rank_bits = std::max(1, static_cast<int>(std::bit_width(ranks)));
  const RowsView rows{sets.ranks.data(), sets.starts.data(),        sets.stored.data(),
                      sets.sizes.data(), &counters.data()->repeats, rank_bits};
  const auto list_above = [&](uint32_t limit) {
    return DeviceBuffer<uint32_t>(device, sets.longest > limit ? tokens / limit + 1 : 0);
  };
  const DeviceBuffer<uint32_t> medium = list_above(tile_tokens), longer = list_above(medium_tokens),
                               longest = list_above(long_tokens);
  uint32_t *listed = counters.data()->listed;
  if (tokens > 0) {
    const uint64_t shares = (tokens + sets.rows) / share_of_warp + 1;
    const LongerRows lists{medium.data(), longer.data(), longest.data(), listed};
    const auto kernel =
        rank_bits + tile_bits <= 32 ? sort_short_rows<uint32_t> : sort_short_rows<unsigned long long>;
    launch(device, kernel, blocks_for(device, shares, warp_threads), rows, sets.rows, shares, lists);
    if (!medium.empty()) launch_blocks<256, medium_tokens / 256>(device, rows, medium, listed);
    if (!longer.empty()) launch_blocks<512, long_tokens / 512>(device, rows, longer, listed + 1);
  }
  SortCounters found{};
  if (!longest.empty()) {
    found = read_value(device, counters.data());
    stop.check();
    if (found.listed[2] > 0) sort_longest_rows(device, rows, longest.data(), found.listed[2], stop);
  }
  found = read_value(device, counters.data());
  stop.check();
  sets.had_duplicates = found.repeats > 0;
  sets.stored_tokens = tokens - unranked - found.repeats;
}

}  // namespace simjoin::gpu
