#include "cuda/graph/sort.hpp"

#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"

namespace simjoin::gpu {

void sort_keys(Device &device, DeviceBuffer<uint64_t> &keys, int bits) {
  if (keys.size() < 2) return;
  DeviceBuffer<uint64_t> other(device, keys.size());
  cub::DoubleBuffer<uint64_t> both(keys.data(), other.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, both, cub_count(keys.size()), 0, bits,
                                          device.stream());
  });
  if (both.Current() != keys.data()) std::swap(keys, other);
}

void sort_pairs(Device &device, DeviceBuffer<uint64_t> &keys, DeviceBuffer<uint64_t> &values, int bits) {
  if (keys.size() < 2) return;
  DeviceBuffer<uint64_t> other_keys(device, keys.size()), other_values(device, values.size());
  cub::DoubleBuffer<uint64_t> both_keys(keys.data(), other_keys.data());
  cub::DoubleBuffer<uint64_t> both_values(values.data(), other_values.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, both_keys, both_values, cub_count(keys.size()), 0,
                                           bits, device.stream());
  });
  if (both_keys.Current() != keys.data()) std::swap(keys, other_keys);
  if (both_values.Current() != values.data()) std::swap(values, other_values);
}

namespace {

struct Widened {
  __device__ uint64_t operator()(uint32_t count) const { return count; }
};

}  // namespace

uint64_t sum_of(Device &device, const DeviceBuffer<uint32_t> &counts) {
  DeviceBuffer<uint64_t> sum(device, 1);
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceReduce::Sum(scratch, bytes, thrust::make_transform_iterator(counts.data(), Widened{}),
                                  sum.data(), cub_count(counts.size()), device.stream());
  });
  return read_value(device, sum.data());
}

void sum_before(Device &device, DeviceBuffer<uint32_t> &counts) {
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, counts.data(), counts.data(),
                                         cub_count(counts.size()), device.stream());
  });
}

}  // namespace simjoin::gpu
