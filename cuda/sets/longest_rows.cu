#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <bit>
#include <cub/cub.cuh>
#include <vector>

#include "cuda/base/binary_search.cuh"
#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/sets/longest_rows.cuh"

namespace simjoin::gpu {
namespace {

struct LengthOfListed {
  const uint64_t *starts;
  const uint32_t *list;
  uint32_t count;
  __device__ uint64_t operator()(uint32_t i) const {
    return i < count ? starts[list[i] + 1] - starts[list[i]] : 0;
  }
};

// Listed rows, one after another. A key is a row's number in the list above the bits of a rank. The list is
// so short that this has 32 bits.
struct ListedRows {
  RowsView rows;
  const uint32_t *list;
  uint32_t count;
  const uint64_t *begins;  // by listed row, then the end

  __device__ uint32_t key(uint64_t row, uint32_t rank) const {
    return static_cast<uint32_t>(row << rows.rank_bits | rank);
  }
  // Returns the first of a row's keys.
  __device__ uint64_t begin(uint32_t row) const { return begins[row] - begins[0]; }
  // Returns the place of the ranks of a row.
  __device__ uint64_t start(uint32_t row) const { return rows.starts[list[row]]; }
};

__global__ void make_keys(const ListedRows listed, uint64_t tokens, uint32_t *keys) {
  SIMJOIN_GRID_STRIDE(i, tokens) {
    const uint32_t row =
        partition_point(uint32_t{1}, listed.count, [&](uint32_t k) { return listed.begin(k) <= i; }) - 1;
    keys[i] = listed.key(row, listed.rows.rank(listed.start(row) + i - listed.begin(row)));
  }
}

// Counts the ranks of each row from all its sorted keys and from those without repeats.
__global__ void count_ranks(const ListedRows listed, uint64_t tokens, const uint32_t *sorted,
                            const uint32_t *unique, const uint64_t *unique_count, uint64_t *unique_begins) {
  SIMJOIN_GRID_STRIDE(i, listed.count) {
    const uint32_t row = listed.list[i];
    const uint32_t first = listed.key(i, 0), none = listed.key(i, listed.rows.none());
    const uint64_t begin = lower_bound(unique, uint64_t{0}, *unique_count, first);
    const uint64_t stored = lower_bound(unique, begin, *unique_count, none) - begin;
    const uint64_t all = listed.begin(static_cast<uint32_t>(i));
    const uint64_t repeats = lower_bound(sorted, all, tokens, none) - all - stored;
    unique_begins[i] = begin;
    listed.rows.stored[row] = static_cast<uint32_t>(stored);
    if (repeats == 0) continue;
    listed.rows.sizes[row] -= static_cast<uint32_t>(repeats);
    atomicAdd(listed.rows.repeats, static_cast<unsigned long long>(repeats));
  }
}

__global__ void put_back(const ListedRows listed, const uint32_t *unique, const uint64_t *unique_count,
                         const uint64_t *unique_begins) {
  const uint64_t count = *unique_count;
  SIMJOIN_GRID_STRIDE(i, count) {
    const uint32_t rank = unique[i] & listed.rows.none();
    if (rank == listed.rows.none()) continue;
    const uint32_t row = unique[i] >> listed.rows.rank_bits;
    listed.rows.ranks[listed.start(row) + i - unique_begins[row]] = rank;
  }
}

// Sorts rows with `tokens` tokens in all.
void sort_batch(Device &device, const ListedRows &listed, uint64_t tokens) {
  DeviceBuffer<uint32_t> keys(device, tokens), other(device, tokens);
  DeviceBuffer<uint64_t> unique_count(device, 1), unique_begins(device, listed.count);
  launch(device, make_keys, blocks_for(device, tokens), listed, tokens, keys.data());
  cub::DoubleBuffer<uint32_t> buffers(keys.data(), other.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, cub_count(tokens), 0,
                                          listed.rows.rank_bits + std::bit_width(listed.count - 1),
                                          device.stream());
  });
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceSelect::Unique(scratch, bytes, buffers.Current(), buffers.Alternate(),
                                     unique_count.data(), cub_count(tokens), device.stream());
  });
  launch(device, count_ranks, blocks_for(device, listed.count), listed, tokens, buffers.Current(),
         buffers.Alternate(), unique_count.data(), unique_begins.data());
  launch(device, put_back, blocks_for(device, tokens), listed, buffers.Alternate(), unique_count.data(),
         unique_begins.data());
}

}  // namespace

void sort_longest_rows(Device &device, const RowsView &rows, const uint32_t *list, uint32_t count,
                       const StopFlag &stop) {
  DeviceBuffer<uint64_t> begins(device, size_t{count} + 1);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveSum(
        scratch, bytes,
        thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0),
                                        LengthOfListed{rows.starts, list, count}),
        begins.data(), cub_count(uint64_t{count} + 1), device.stream());
  });
  std::vector<uint64_t> known(size_t{count} + 1);
  copy_to_host(device, known.data(), begins.data(), known.size());
  device.synchronize();
  // As many rows at a time as 32 bits have numbers for. Keys of 64 bits are sorted half as fast.
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(count, uint64_t{1} << (32 - rows.rank_bits)));
  for (uint32_t first = 0; first < count; first += batch) {
    stop.check();
    const uint32_t taken = std::min(batch, count - first);
    sort_batch(device, {rows, list + first, taken, begins.data() + first},
               known[first + taken] - known[first]);
  }
}

}  // namespace simjoin::gpu
