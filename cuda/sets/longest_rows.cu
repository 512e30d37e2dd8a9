#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <bit>
#include <cub/cub.cuh>

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

// Listed rows, one after another. A key is a row's number in the list above the bits of a rank.
struct ListedRows {
  RowsView rows;
  const uint32_t *list;
  uint32_t count;
  const uint64_t *begins;  // by listed row, then the end

  __device__ uint64_t key(uint64_t row, uint32_t rank) const { return row << rows.rank_bits | rank; }
};

__global__ void make_keys(const ListedRows listed, uint64_t tokens, uint64_t *keys) {
  SIMJOIN_GRID_STRIDE(i, tokens) {
    const uint32_t row =
        partition_point(uint32_t{1}, listed.count, [&](uint32_t k) { return listed.begins[k] <= i; }) - 1;
    keys[i] =
        listed.key(row, listed.rows.rank(listed.rows.starts[listed.list[row]] + i - listed.begins[row]));
  }
}

// Counts the ranks of each row from all its sorted keys and from those without repeats.
__global__ void count_ranks(const ListedRows listed, uint64_t tokens, const uint64_t *sorted,
                            const uint64_t *unique, const uint64_t *unique_count, uint64_t *unique_begins) {
  SIMJOIN_GRID_STRIDE(i, listed.count) {
    const uint32_t row = listed.list[i];
    const uint64_t first = listed.key(i, 0), none = listed.key(i, listed.rows.none());
    const uint64_t begin = lower_bound(unique, uint64_t{0}, *unique_count, first);
    const uint64_t stored = lower_bound(unique, begin, *unique_count, none) - begin;
    const uint64_t ranked = lower_bound(sorted, listed.begins[i], tokens, none) - listed.begins[i];
    unique_begins[i] = begin;
    listed.rows.stored[row] = static_cast<uint32_t>(stored);
    listed.rows.sizes[row] -= static_cast<uint32_t>(ranked - stored);
    if (ranked > stored) atomicAdd(listed.rows.repeats, static_cast<unsigned long long>(ranked - stored));
  }
}

__global__ void put_back(const ListedRows listed, const uint64_t *unique, const uint64_t *unique_count,
                         const uint64_t *unique_begins) {
  const uint64_t count = *unique_count;
  SIMJOIN_GRID_STRIDE(i, count) {
    const uint32_t rank = static_cast<uint32_t>(unique[i]) & listed.rows.none();
    if (rank == listed.rows.none()) continue;
    const auto number = static_cast<uint32_t>(unique[i] >> listed.rows.rank_bits);
    listed.rows.ranks[listed.rows.starts[listed.list[number]] + i - unique_begins[number]] = rank;
  }
}

}  // namespace

void sort_longest_rows(Device &device, const RowsView &rows, const uint32_t *list, uint32_t count,
                       const StopFlag &stop) {
  DeviceBuffer<uint64_t> begins(device, size_t{count} + 1), unique_begins(device, count);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveSum(
        scratch, bytes,
        thrust::make_transform_iterator(thrust::counting_iterator<uint32_t>(0),
                                        LengthOfListed{rows.starts, list, count}),
        begins.data(), cub_count(uint64_t{count} + 1), device.stream());
  });
  const uint64_t tokens = read_value(device, begins.data() + count);
  stop.check();
  const ListedRows listed{rows, list, count, begins.data()};
  DeviceBuffer<uint64_t> keys(device, tokens), other(device, tokens), unique_count(device, 1);
  launch(device, make_keys, blocks_for(device, tokens), listed, tokens, keys.data());
  cub::DoubleBuffer<uint64_t> buffers(keys.data(), other.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, cub_count(tokens), 0,
                                          rows.rank_bits + std::bit_width(count), device.stream());
  });
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceSelect::Unique(scratch, bytes, buffers.Current(), buffers.Alternate(),
                                     unique_count.data(), cub_count(tokens), device.stream());
  });
  launch(device, count_ranks, blocks_for(device, count), listed, tokens, buffers.Current(),
         buffers.Alternate(), unique_count.data(), unique_begins.data());
  launch(device, put_back, blocks_for(device, tokens), listed, buffers.Alternate(), unique_count.data(),
         unique_begins.data());
}

}  // namespace simjoin::gpu
