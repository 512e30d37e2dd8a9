#include "cuda/sets/collection.hpp"

#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>
#include <numeric>

#include "cuda/base/binary_search.cuh"
#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/sets/long_sets.cuh"

namespace simjoin::gpu {
namespace {

constexpr int tile_items = 8;  // tokens that a thread maps
constexpr int tile_tokens = tile_items * block_threads;
constexpr uint32_t excess_limit = 255;  // the order treats larger ones alike
constexpr int excess_bits = 8;

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

struct OrderLayouts {
  DeviceSignatureLayout layouts[SignatureWidths::count];
};

// Rows [0, rows) to be ordered, and the arrays for their sizes and sort keys: size << excess_bits | excess.
// In odd sizes the excess counts down, so that it changes little from one size to the next.
struct KeyedRows {
  const uint32_t *ranks;
  const uint64_t *starts;
  const uint32_t *dropped;
  uint32_t rows;
  SignatureWidths widths;
  uint32_t *sizes;
  uint64_t *keys;
  uint32_t *numbers;

  __device__ uint32_t stored(uint64_t row) const {
    return static_cast<uint32_t>(starts[row + 1] - starts[row]);
  }
  __device__ uint32_t size(uint64_t row) const { return stored(row) + dropped[row]; }

  // Writes the key of a row from its bitmap of `words` words. All lanes of a warp take part.
  __device__ void finish(uint64_t row, const uint32_t *bitmap, uint32_t words) const {
    const uint32_t lane = threadIdx.x % warp_threads;
    uint32_t bits = 0;
    for (uint32_t word = lane; word < words; word += warp_threads) bits += __popc(bitmap[word]);
    bits = __reduce_add_sync(~0u, bits);
    if (lane != 0) return;
    const uint32_t excess = min(stored(row) - bits, excess_limit), row_size = size(row);
    sizes[row] = row_size;
    keys[row] = uint64_t{row_size} << excess_bits | (row_size % 2 == 0 ? excess : excess_limit - excess);
    numbers[row] = static_cast<uint32_t>(row);
  }
};

// One warp per row, except for long rows.
__global__ void key_sets(const KeyedRows rows, const __grid_constant__ OrderLayouts layouts,
                         LongSets longer) {
  __shared__ uint32_t bitmaps[block_warps][most_steps * step_words];
  const uint32_t lane = threadIdx.x % warp_threads;
  uint32_t *bitmap = bitmaps[threadIdx.x / warp_threads];
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t row = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; row < rows.rows;
       row += warps) {
    const uint32_t stored = rows.stored(row);
    if (stored > warp_set_tokens) {
      if (lane == 0) longer.add(static_cast<uint32_t>(row));
      continue;
    }
    const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.size(row))];
    const uint32_t words = layout.steps * step_words;
    for (uint32_t word = lane; word < words; word += warp_threads) bitmap[word] = 0;
    __syncwarp();
    set_bits(rows.ranks + rows.starts[row], stored, layout, bitmap, lane, warp_threads);
    __syncwarp();
    rows.finish(row, bitmap, words);
    __syncwarp();
  }
}

// One block per long row.
__global__ void key_long_sets(const KeyedRows rows, const __grid_constant__ OrderLayouts layouts,
                              LongSets longer) {
  __shared__ uint32_t bitmap[most_steps * step_words];
  for (uint32_t i = blockIdx.x; i < *longer.count; i += gridDim.x) {
    const uint32_t row = longer.numbers[i];
    const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.size(row))];
    const uint32_t words = layout.steps * step_words;
    for (uint32_t word = threadIdx.x; word < words; word += blockDim.x) bitmap[word] = 0;
    __syncthreads();
    set_bits(rows.ranks + rows.starts[row], rows.stored(row), layout, bitmap, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x < warp_threads) rows.finish(row, bitmap, words);
    __syncthreads();
  }
}

__global__ void make_records(const uint32_t *numbers, uint32_t rows, const uint64_t *starts,
                             const uint32_t *sizes, SetRecord *records, uint32_t *ordered_sizes) {
  SIMJOIN_GRID_STRIDE(i, rows) {
    const uint32_t row = numbers[i];
    const uint64_t start = starts[row];
    records[i] = {start, static_cast<uint32_t>(starts[row + 1] - start), sizes[row], row};
    ordered_sizes[i] = sizes[row];
  }
}

struct IsFirstOfSize {
  const uint32_t *ordered_sizes;
  __device__ bool operator()(uint32_t i) const { return i == 0 || ordered_sizes[i] != ordered_sizes[i - 1]; }
};

__global__ void list_classes(const uint32_t *begins, uint32_t count, const uint32_t *ordered_sizes,
                             DeviceSizeClass *classes) {
  SIMJOIN_GRID_STRIDE(i, count) classes[i] = {ordered_sizes[begins[i]], begins[i]};
}

int bits_below(uint64_t count) {
  return count <= 1 ? 1 : std::bit_width(count - 1);
}

// The tokens of all sides, and the rows' offsets in them.
struct Input {
  DeviceBuffer<char> joined;  // only if there are two sides
  const void *tokens = nullptr;
  uint64_t count = 0;
  uint32_t rows = 0;
  DeviceBuffer<uint64_t> offsets;
};

Input join_sides(Device &device, UploadedSide *sides[2], size_t token_bytes) {
  Input input;
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

// The sets by row, mapped but not yet ordered.
struct RowSets {
  DeviceBuffer<uint32_t> ranks;
  DeviceBuffer<uint64_t> starts;   // by row, then the end
  DeviceBuffer<uint32_t> dropped;  // by row: tokens without a rank
  uint64_t stored = 0;
  bool had_duplicates = false;
};

template <typename Lookup>
void launch_map(Device &device, Lookup lookup, const Input &input, int rank_bits, uint64_t *keys,
                unsigned long long *kept, uint32_t *dropped) {
  const uint64_t tiles = (input.count + tile_tokens - 1) / tile_tokens;
  launch(device, map_tokens<Lookup>, blocks_for(device, tiles, block_threads), lookup, input.count,
         input.offsets.data(), input.rows, rank_bits, keys, kept, dropped);
}

// Writes the keys of all tokens that have a rank, and returns their number.
uint64_t map_all(Device &device, const Input &input, const TokenRanks &ranks, bool wide, int rank_bits,
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

RowSets map_rows(Device &device, const Input &input, const TokenRanks &ranks, bool wide,
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

// Fetches the distinct sizes of a side and the first set of each.
void read_classes(Device &device, const DeviceBuffer<uint32_t> &ordered_sizes, DeviceSide &side) {
  if (side.sets > 0) {
    DeviceBuffer<uint32_t> begins(device, side.sets), number(device, 1);
    with_scratch(device, [&](void *scratch, size_t &bytes) {
      return cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<uint32_t>(0), begins.data(),
                                   number.data(), cub_count(side.sets), IsFirstOfSize{ordered_sizes.data()},
                                   device.stream());
    });
    const uint32_t classes = read_value(device, number.data());
    DeviceBuffer<DeviceSizeClass> found(device, classes);
    launch(device, list_classes, blocks_for(device, classes), begins.data(), classes, ordered_sizes.data(),
           found.data());
    side.classes.resize(classes);
    copy_to_host(device, side.classes.data(), found.data(), classes);
    device.synchronize();
  }
  side.classes.push_back({UINT32_MAX, side.sets});
}

// Orders the rows [first, first + sets) of both sides' rows as one side.
void order_side(Device &device, const RowSets &rows, uint32_t first, uint32_t sets, uint32_t longest,
                const OrderLayouts &layouts, const SignatureWidths &widths, DeviceSide &side,
                std::vector<uint32_t> &host_sizes, bool fetch_sizes) {
  side.sets = sets;
  if (sets > 0) {
    DeviceBuffer<uint32_t> sizes(device, sets), numbers(device, sets), sorted(device, sets);
    DeviceBuffer<uint64_t> keys(device, sets), sorted_keys(device, sets);
    const KeyedRows keyed{rows.ranks.data(),
                          rows.starts.data() + first,
                          rows.dropped.data() + first,
                          sets,
                          widths,
                          sizes.data(),
                          keys.data(),
                          numbers.data()};
    const LongSetList longer(device, rows.stored, longest);
    launch(device, key_sets, blocks_for(device, sets, warp_threads), keyed, layouts, longer.view());
    if (longer.any()) launch(device, key_long_sets, longer.shape(device), keyed, layouts, longer.view());
    with_scratch(device, [&](void *scratch, size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.data(), sorted_keys.data(), numbers.data(),
                                             sorted.data(), cub_count(sets), 0,
                                             excess_bits + std::bit_width(longest), device.stream());
    });
    side.records = DeviceBuffer<SetRecord>(device, sets);
    DeviceBuffer<uint32_t> ordered_sizes(device, sets);
    launch(device, make_records, blocks_for(device, sets), sorted.data(), sets, rows.starts.data() + first,
           sizes.data(), side.records.data(), ordered_sizes.data());
    if (fetch_sizes) {
      host_sizes.resize(sets);
      copy_to_host(device, host_sizes.data(), sizes.data(), sets);
    }
    read_classes(device, ordered_sizes, side);
  } else {
    side.classes.push_back({UINT32_MAX, 0});
  }
}

}  // namespace

uint32_t DeviceSide::lower_bound(uint64_t size) const {
  const auto found =
      std::lower_bound(classes.begin(), classes.end(), size,
                       [](const DeviceSizeClass &c, uint64_t value) { return c.size < value; });
  return found == classes.end() ? sets : found->begin;
}

// A rank gets a bit of its own while it is at least as frequent as the average of the bits left.
DeviceSignatureLayout DeviceCollection::layout(uint32_t steps) const {
  DeviceSignatureLayout layout{steps, 0, rank_count};
  if (rank_count <= layout.bits()) {
    layout.own = rank_count;
    return layout;
  }
  uint64_t rest = stored_tokens;
  while (layout.own + 1 < layout.bits() && layout.own < most_frequent.size()) {
    const uint64_t frequency = most_frequent[layout.own];
    if (frequency * (layout.bits() - layout.own) < rest) break;
    rest -= std::min(rest, frequency);
    ++layout.own;
  }
  return layout;
}

DeviceCollection build_collection(Device &device, UploadedSide *left, UploadedSide *right,
                                  const SignatureWidths &widths, const StopFlag &stop) {
  UploadedSide *sides[2] = {left, right};
  const bool wide_tokens = left->wide || (right != nullptr && right->wide);
  Input input = join_sides(device, sides, wide_tokens ? sizeof(int64_t) : sizeof(int32_t));
  TokenRanks ranks = rank_tokens(device, {input.tokens, input.count, wide_tokens}, stop);
  RowSets rows = map_rows(device, input, ranks, wide_tokens, stop);
  input.joined.reset();
  input.offsets.reset();
  left->tokens.reset();
  DeviceCollection collection;
  collection.rank_count = ranks.ranks;
  collection.distinct_tokens = ranks.distinct;
  collection.stored_tokens = rows.stored;
  collection.most_frequent = std::move(ranks.most_frequent);
  ranks = {};
  OrderLayouts layouts;
  for (uint32_t width = 0; width < SignatureWidths::count; ++width) {
    layouts.layouts[width] = collection.layout(SignatureWidths::steps(width));
  }
  uint32_t first = 0;
  for (int s = 0; s < 2 && sides[s] != nullptr; ++s) {
    collection.tokens[s] = sides[s]->total;
    order_side(device, rows, first, sides[s]->rows, sides[s]->longest, layouts, widths, collection.sides[s],
               collection.sizes[s], rows.had_duplicates);
    stop.check();
    first += sides[s]->rows;
  }
  device.synchronize();
  for (int s = 0; s < 2 && rows.had_duplicates; ++s) {
    collection.tokens[s] =
        std::accumulate(collection.sizes[s].begin(), collection.sizes[s].end(), uint64_t{0});
  }
  collection.ranks = std::move(rows.ranks);
  return collection;
}

}  // namespace simjoin::gpu
