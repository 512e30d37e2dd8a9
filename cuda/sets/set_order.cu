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

  // Writes the key of a row from its bitmap of `words` words. All lanes of a warp take part.
  __device__ void finish(uint64_t row, const uint32_t *bitmap, uint32_t words) const {
    const uint32_t lane = threadIdx.x % warp_threads;
    uint32_t bits = 0;
    for (uint32_t word = lane; word < words; word += warp_threads) bits += __popc(bitmap[word]);
    bits = __reduce_add_sync(~0u, bits);
    if (lane != 0) return;
    const uint32_t excess = min(stored[row] - bits, excess_limit), row_size = sizes[row];
    keys[row] = uint64_t{row_size} << excess_bits | (row_size % 2 == 0 ? excess : excess_limit - excess);
    numbers[row] = static_cast<uint32_t>(row);
  }
};

// One warp per row, except for long rows.
__global__ void key_sets(const KeyedRows rows, const __grid_constant__ OrderLayouts layouts,
                         LongSets longer) {
  __shared__ uint32_t bitmaps[block_warps][warp_steps * step_words];
  const uint32_t lane = threadIdx.x % warp_threads;
  uint32_t *bitmap = bitmaps[threadIdx.x / warp_threads];
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t row = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; row < rows.rows;
       row += warps) {
    const uint32_t stored = rows.stored[row];
    if (stored > warp_set_tokens) {
      if (lane == 0) longer.add(static_cast<uint32_t>(row));
      continue;
    }
    const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.sizes[row])];
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
  __shared__ uint32_t bitmap[warp_steps * step_words];
  for (uint32_t i = blockIdx.x; i < *longer.count; i += gridDim.x) {
    const uint32_t row = longer.numbers[i];
    const DeviceSignatureLayout &layout = layouts.layouts[rows.widths.width_of(rows.sizes[row])];
    const uint32_t words = layout.steps * step_words;
    for (uint32_t word = threadIdx.x; word < words; word += blockDim.x) bitmap[word] = 0;
    __syncthreads();
    set_bits(rows.ranks + rows.starts[row], rows.stored[row], layout, bitmap, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x < warp_threads) rows.finish(row, bitmap, words);
    __syncthreads();
  }
}

__global__ void make_records(const uint32_t *numbers, uint32_t rows, const uint64_t *starts,
                             const uint32_t *stored, const uint32_t *sizes, SetRecord *records,
                             uint32_t *ordered_sizes) {
  SIMJOIN_GRID_STRIDE(i, rows) {
    const uint32_t row = numbers[i];
    records[i] = {starts[row], stored[row], sizes[row], row};
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
    launch(device, key_sets, blocks_for(device, sets, warp_threads), keyed, layouts, longer.view());
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
