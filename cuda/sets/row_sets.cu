#include "cuda/sets/row_sets.hpp"

#include <bit>
#include <cub/cub.cuh>
#include <utility>

#include "core/base/error.hpp"
#include "cuda/base/binary_search.cuh"
#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"

namespace simjoin::gpu {
namespace {

constexpr int tile_items = 8;  // tokens that a thread maps
constexpr int tile_tokens = tile_items * block_threads;

// Finds the rank of token i.
template <typename T>
struct DirectLookup {
  const T *tokens;
  int64_t minimum;
  const uint32_t *table;
  __device__ uint32_t operator()(uint64_t i) const {
    return table[static_cast<int64_t>(tokens[i]) - minimum];
  }
};
struct SlotLookup {
  const uint32_t *slots;
  const uint32_t *table;
  __device__ uint32_t operator()(uint64_t i) const { return table[slots[i]]; }
};

// Returns the row in [low, high] whose tokens [offsets[row], offsets[row + 1]) include i.
__device__ uint32_t row_of(const uint64_t *offsets, uint32_t low, uint32_t high, uint64_t i) {
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (offsets[middle] <= i) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Appends (row << rank_bits | rank) to `keys` for every token with a rank, in any order. Counts the tokens
// without a rank by row.
template <typename Lookup>
__global__ void map_tokens(Lookup lookup, uint64_t count, const uint64_t *offsets, uint32_t rows,
                           int rank_bits, uint64_t *keys, unsigned long long *kept, uint32_t *dropped) {
  __shared__ uint32_t first_row, last_row;
  __shared__ uint32_t warp_kept[tile_items * block_warps];
  __shared__ unsigned long long base;
  const int lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  for (uint64_t tile = uint64_t{blockIdx.x} * tile_tokens; tile < count;
       tile += uint64_t{gridDim.x} * tile_tokens) {
    const uint64_t end = min(count, tile + tile_tokens);
    if (threadIdx.x == 0) first_row = row_of(offsets, 0, rows - 1, tile);
    if (threadIdx.x == warp_threads) last_row = row_of(offsets, 0, rows - 1, end - 1);
    __syncthreads();
    uint64_t key[tile_items];
    bool keep[tile_items];
#pragma unroll
    for (int k = 0; k < tile_items; ++k) {
      const uint64_t i = tile + static_cast<uint64_t>(k) * block_threads + threadIdx.x;
      keep[k] = false;
      if (i < end) {
        const uint32_t row = row_of(offsets, first_row, last_row, i);
        const uint32_t rank = lookup(i);
        keep[k] = rank != no_rank;
        if (!keep[k]) atomicAdd(&dropped[row], 1u);
        key[k] = uint64_t{row} << rank_bits | rank;
      }
      const unsigned votes = __ballot_sync(~0u, keep[k]);
      if (lane == 0) warp_kept[k * block_warps + warp] = __popc(votes);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t sum = 0;
      for (int w = 0; w < tile_items * block_warps; ++w) {
        const uint32_t own = warp_kept[w];
        warp_kept[w] = sum;
        sum += own;
      }
      base = atomicAdd(kept, static_cast<unsigned long long>(sum));
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_items; ++k) {
      const unsigned votes = __ballot_sync(~0u, keep[k]);
      if (keep[k]) {
        keys[base + warp_kept[k * block_warps + warp] + __popc(votes & ((1u << lane) - 1))] = key[k];
      }
    }
    __syncthreads();
  }
}

__global__ void take_ranks(const uint64_t *keys, uint64_t count, int rank_bits, uint32_t *ranks) {
  SIMJOIN_GRID_STRIDE(i, count) {
    ranks[i] = static_cast<uint32_t>(keys[i] & ((uint64_t{1} << rank_bits) - 1));
  }
}

// Sets starts[row] to the index of the first key that is not below the row's, for row <= rows. Keys ascend.
__global__ void find_rows(const uint64_t *keys, uint64_t count, int rank_bits, uint32_t rows,
                          uint64_t *starts) {
  SIMJOIN_GRID_STRIDE(row, uint64_t{rows} + 1)
  starts[row] = lower_bound(keys, uint64_t{0}, count, row << rank_bits);
}

int bits_below(uint64_t count) {
  return count <= 1 ? 1 : std::bit_width(count - 1);
}

template <typename Lookup>
void launch_map(Device &device, Lookup lookup, const JoinedSides &input, int rank_bits, uint64_t *keys,
                unsigned long long *kept, uint32_t *dropped) {
  const uint64_t tiles = (input.count + tile_tokens - 1) / tile_tokens;
  launch(device, map_tokens<Lookup>, blocks_for(device, tiles, block_threads), lookup, input.count,
         input.offsets.data(), input.rows, rank_bits, keys, kept, dropped);
}

// Writes the keys of all tokens that have a rank, and returns their number.
uint64_t map_all(Device &device, const JoinedSides &input, const TokenRanks &ranks, bool wide, int rank_bits,
                 uint64_t *keys, uint32_t *dropped) {
  DeviceBuffer<unsigned long long> kept(device, 1);
  kept.fill(0);
  if (!ranks.slots.empty()) {
    launch_map(device, SlotLookup{ranks.slots.data(), ranks.table.data()}, input, rank_bits, keys,
               kept.data(), dropped);
  } else if (wide) {
    const DirectLookup<int64_t> lookup{static_cast<const int64_t *>(input.tokens), ranks.minimum,
                                       ranks.table.data()};
    launch_map(device, lookup, input, rank_bits, keys, kept.data(), dropped);
  } else {
    const DirectLookup<int32_t> lookup{static_cast<const int32_t *>(input.tokens), ranks.minimum,
                                       ranks.table.data()};
    launch_map(device, lookup, input, rank_bits, keys, kept.data(), dropped);
  }
  return read_value(device, kept.data());
}

// Sorts `keys`, removes duplicates, and returns the number of keys left.
uint64_t sort_unique(Device &device, DeviceBuffer<uint64_t> &keys, uint64_t count, int bits) {
  if (count == 0) return 0;
  DeviceBuffer<uint64_t> other(device, count);
  cub::DoubleBuffer<uint64_t> buffers(keys.data(), other.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, cub_count(count), 0, bits,
                                          device.stream());
  });
  DeviceBuffer<uint64_t> number(device, 1);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceSelect::Unique(scratch, bytes, buffers.Current(), buffers.Alternate(), number.data(),
                                     cub_count(count), device.stream());
  });
  if (buffers.Alternate() == other.data()) std::swap(keys, other);
  return read_value(device, number.data());
}

}  // namespace

JoinedSides join_sides(Device &device, UploadedSide *sides[2], size_t token_bytes) {
  JoinedSides input;
  uint64_t rows = 0;
  for (int s = 0; s < 2 && sides[s] != nullptr; ++s) {
    input.count += sides[s]->total;
    rows += sides[s]->rows;
  }
  if (rows >= UINT32_MAX || input.count >= UINT32_MAX) {
    throw Error(ErrorKind::limit_exceeded, "the join has too many sets or tokens for the GPU");
  }
  input.rows = static_cast<uint32_t>(rows);
  input.tokens = sides[0]->tokens.data();
  if (sides[1] != nullptr) {
    input.joined = DeviceBuffer<char>(device, input.count * token_bytes);
    copy_on_device(device, input.joined.data(), sides[0]->tokens.data(), sides[0]->tokens.bytes());
    copy_on_device(device, input.joined.data() + sides[0]->tokens.bytes(), sides[1]->tokens.data(),
                   sides[1]->tokens.bytes());
    for (int s = 0; s < 2; ++s) sides[s]->tokens.reset();
    input.tokens = input.joined.data();
  }
  DeviceBuffer<uint32_t> lengths(device, rows + 1);
  for (uint64_t s = 0, first = 0; s < 2 && sides[s] != nullptr; first += sides[s++]->rows) {
    copy_on_device(device, lengths.data() + first,
                   reinterpret_cast<const uint32_t *>(sides[s]->lengths.data()), sides[s]->rows);
    sides[s]->lengths.reset();
  }
  input.offsets = DeviceBuffer<uint64_t>(device, rows + 1);
  SIMJOIN_DEVICE_CALL(cudaMemsetAsync(lengths.data() + rows, 0, sizeof(uint32_t), device.stream()));
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveScan(scratch, bytes, lengths.data(), input.offsets.data(),
                                          cuda::std::plus<uint64_t>{}, uint64_t{0}, cub_count(rows + 1),
                                          device.stream());
  });
  return input;
}

RowSets map_rows(Device &device, const JoinedSides &input, const TokenRanks &ranks, bool wide,
                 const StopFlag &stop) {
  const int rank_bits = bits_below(ranks.ranks);
  RowSets rows;
  rows.dropped = DeviceBuffer<uint32_t>(device, input.rows);
  rows.dropped.fill(0);
  DeviceBuffer<uint64_t> keys(device, input.count);
  uint64_t kept = 0;
  if (input.count > 0) {
    kept = map_all(device, input, ranks, wide, rank_bits, keys.data(), rows.dropped.data());
    stop.check();
  }
  rows.stored = sort_unique(device, keys, kept, rank_bits + bits_below(input.rows));
  stop.check();
  rows.had_duplicates = rows.stored < kept;
  rows.ranks = DeviceBuffer<uint32_t>(device, rows.stored);
  rows.starts = DeviceBuffer<uint64_t>(device, size_t{input.rows} + 1);
  launch(device, take_ranks, blocks_for(device, rows.stored), keys.data(), rows.stored, rank_bits,
         rows.ranks.data());
  launch(device, find_rows, blocks_for(device, uint64_t{input.rows} + 1), keys.data(), rows.stored, rank_bits,
         input.rows, rows.starts.data());
  return rows;
}

}  // namespace simjoin::gpu
