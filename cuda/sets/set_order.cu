#include "cuda/sets/set_order.hpp"

#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>

#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/sets/long_sets.cuh"

namespace simjoin::gpu {
namespace {

constexpr uint32_t excess_limit = 255;  // the order treats larger ones alike
constexpr int excess_bits = 8;

// Rows [0, rows) to be ordered, and the arrays for their sort keys: size << excess_bits | excess.
// In odd sizes the excess counts down, so that it changes little from one size to the next.
struct KeyedRows {
  const uint32_t *ranks;
  const uint64_t *starts;
  const uint32_t *stored;
  const uint32_t *sizes;
  uint32_t rows;
  SignatureWidths widths;
  uint64_t *keys;
  uint32_t *numbers;

  // Writes the key of a row whose tokens have `bits` bits.
  __device__ void finish(uint64_t row, uint32_t bits) const {
    const uint32_t excess = min(stored[row] - bits, excess_limit), row_size = sizes[row];
    keys[row] = uint64_t{row_size} << excess_bits | (row_size % 2 == 0 ? excess : excess_limit - excess);
    numbers[row] = static_cast<uint32_t>(row);
  }
};

// Returns the bits of a bitmap of `words` words to each `lanes` lanes of a warp that have one.
template <uint32_t lanes>
__device__ uint32_t bits_of(const uint32_t *bitmap, uint32_t words) {
  uint32_t bits = 0;
  for (uint32_t word = threadIdx.x % lanes; word < words; word += lanes) bits += __popc(bitmap[word]);
  for (uint32_t distance = lanes / 2; distance > 0; distance /= 2) {
    bits += __shfl_xor_sync(~0u, bits, distance);
  }
  return bits;
}

// Writes the key of a row, or lists the row if it is too long for a warp.
__device__ void key_or_list(const KeyedRows &rows, uint64_t row, const OrderLayouts &layouts,
                            uint32_t *bitmap, const LongSets &longer) {
  const uint32_t lane = threadIdx.x % warp_threads, stored = rows.stored[row];
  if (stored > warp_set_tokens) {
    if (lane == 0) longer.add(static_cast<uint32_t>(row));
    return;
  }
  const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.sizes[row])];
  const uint32_t words = layout.steps * step_words;
  for (uint32_t word = lane; word < words; word += warp_threads) bitmap[word] = 0;
  __syncwarp();
  set_bits(rows.ranks + rows.starts[row], stored, layout, bitmap, lane, warp_threads);
  __syncwarp();
  const uint32_t bits = bits_of<warp_threads>(bitmap, words);
  if (lane == 0) rows.finish(row, bits);
  __syncwarp();
}

// One warp per row, except for long rows.
__global__ void key_sets(const KeyedRows rows, const __grid_constant__ OrderLayouts layouts,
                         LongSets longer) {
  __shared__ uint32_t bitmaps[block_warps][warp_steps * step_words];
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t row = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; row < rows.rows;
       row += warps) {
    key_or_list(rows, row, layouts, bitmaps[threadIdx.x / warp_threads], longer);
  }
}

// A warp takes `row_groups` rows at a time, and a group of its lanes each that is short. The bitmaps of the
// groups share the warp's. That pays where rows are short on average: keys of livejournal took 0.6 ms instead
// of 1.0 on an H100, those of twitter, with 75 tokens on average, 0.4 instead of 0.2.
constexpr uint32_t row_groups = 4, group_lanes = warp_threads / row_groups;
constexpr uint32_t group_tokens = 64, group_steps = warp_steps / row_groups;

__global__ void key_short_sets(const KeyedRows rows, const __grid_constant__ OrderLayouts layouts,
                               LongSets longer) {
  __shared__ uint32_t bitmaps[block_warps][warp_steps * step_words];
  const uint32_t lane = threadIdx.x % warp_threads, group = lane / group_lanes;
  uint32_t *bitmap = bitmaps[threadIdx.x / warp_threads];
  uint32_t *group_bitmap = bitmap + group * group_steps * step_words;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t first = (uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads) * row_groups;
       first < rows.rows; first += warps * row_groups) {
    const uint64_t row = min(first + group, uint64_t{rows.rows} - 1);
    const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.sizes[row])];
    const bool exists = first + group < rows.rows;
    const bool is_short = rows.stored[row] <= group_tokens && layout.steps <= group_steps;
    const uint32_t words = exists && is_short ? layout.steps * step_words : 0;
    for (uint32_t word = lane % group_lanes; word < words; word += group_lanes) group_bitmap[word] = 0;
    __syncwarp();
    if (words > 0) {
      set_bits(rows.ranks + rows.starts[row], rows.stored[row], layout, group_bitmap, lane % group_lanes,
               group_lanes);
    }
    __syncwarp();
    const uint32_t bits = bits_of<group_lanes>(group_bitmap, words);
    if (words > 0 && lane % group_lanes == 0) rows.finish(row, bits);
    __syncwarp();
    unsigned left = __ballot_sync(~0u, exists && !is_short && lane % group_lanes == 0);
    for (; left != 0; left &= left - 1) {
      key_or_list(rows, first + (__ffs(left) - 1) / group_lanes, layouts, bitmap, longer);
    }
  }
}

// One block per long row.
__global__ void key_long_sets(const KeyedRows rows, const __grid_constant__ OrderLayouts layouts,
                              LongSets longer) {
  __shared__ uint32_t bitmap[warp_steps * step_words];
  for (uint32_t i = blockIdx.x; i < *longer.count; i += gridDim.x) {
    const uint32_t row = longer.numbers[i];
    const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.sizes[row])];
    const uint32_t words = layout.steps * step_words;
    for (uint32_t word = threadIdx.x; word < words; word += blockDim.x) bitmap[word] = 0;
    __syncthreads();
    set_bits(rows.ranks + rows.starts[row], rows.stored[row], layout, bitmap, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x < warp_threads) {
      const uint32_t bits = bits_of<warp_threads>(bitmap, words);
      if (threadIdx.x == 0) rows.finish(row, bits);
    }
    __syncthreads();
  }
}

__global__ void make_records(const uint32_t *numbers, uint32_t rows, const uint64_t *starts,
                             const uint32_t *stored, const uint32_t *sizes, SetRecord *records,
                             uint32_t *ordered_sizes) {
  SIMJOIN_GRID_STRIDE(i, rows) {
    const uint32_t row = numbers[i];
    records[i] = {starts[row], stored[row], sizes[row], row, {}};
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

}  // namespace

void order_side(Device &device, const RowSets &rows, uint32_t first, uint32_t sets, uint32_t longest,
                const OrderLayouts &layouts, const SignatureWidths &widths, DeviceSide &side,
                std::vector<uint32_t> &host_sizes, bool fetch_sizes) {
  side.sets = sets;
  if (sets > 0) {
    DeviceBuffer<uint32_t> numbers(device, sets), sorted(device, sets);
    DeviceBuffer<uint64_t> keys(device, sets), sorted_keys(device, sets);
    const KeyedRows keyed{rows.ranks.data(),
                          rows.starts.data() + first,
                          rows.stored.data() + first,
                          rows.sizes.data() + first,
                          sets,
                          widths,
                          keys.data(),
                          numbers.data()};
    const LongSetList longer(device, rows.stored_tokens, longest);
    if (rows.stored_tokens <= uint64_t{group_tokens} * rows.rows) {
      launch(device, key_short_sets, blocks_for(device, sets, group_lanes), keyed, layouts, longer.view());
    } else {
      launch(device, key_sets, blocks_for(device, sets, warp_threads), keyed, layouts, longer.view());
    }
    if (longer.any()) launch(device, key_long_sets, longer.shape(device), keyed, layouts, longer.view());
    with_scratch(device, [&](void *scratch, size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.data(), sorted_keys.data(), numbers.data(),
                                             sorted.data(), cub_count(sets), 0,
                                             excess_bits + std::bit_width(longest), device.stream());
    });
    side.records = DeviceBuffer<SetRecord>(device, sets);
    DeviceBuffer<uint32_t> ordered_sizes(device, sets);
    launch(device, make_records, blocks_for(device, sets), sorted.data(), sets, keyed.starts, keyed.stored,
           keyed.sizes, side.records.data(), ordered_sizes.data());
    if (fetch_sizes) {
      host_sizes.resize(sets);
      copy_to_host(device, host_sizes.data(), keyed.sizes, sets);
    }
    read_classes(device, ordered_sizes, side);
  } else {
    side.classes.push_back({UINT32_MAX, 0});
  }
}

}  // namespace simjoin::gpu
