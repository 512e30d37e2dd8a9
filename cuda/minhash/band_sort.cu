#include "cuda/minhash/band_sort.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "cuda/base/cub_count.cuh"
#include "cuda/base/launch.cuh"

namespace simjoin::gpu {
namespace {

__global__ void take_apart(const BandKey *keys, uint64_t count, uint64_t *hashes, uint64_t *rows) {
  SIMJOIN_GRID_STRIDE(i, count) {
    hashes[i] = keys[i].hash;
    rows[i] = keys[i].row;
  }
}

__global__ void put_together(const uint64_t *hashes, const uint64_t *rows, uint64_t count, BandKey *keys) {
  SIMJOIN_GRID_STRIDE(i, count) keys[i] = {rows[i], hashes[i]};
}

}  // namespace

void sort_band(Device &device, BandKey *keys, size_t count) {
  if (count == 0) return;
  DeviceBuffer<uint64_t> hashes(device, count), rows(device, count);
  DeviceBuffer<uint64_t> sorted_hashes(device, count), sorted_rows(device, count);
  launch(device, take_apart, blocks_for(device, count), keys, uint64_t{count}, hashes.data(), rows.data());
  with_scratch(device, [&](void *scratch, size_t &bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, hashes.data(), sorted_hashes.data(), rows.data(),
                                           sorted_rows.data(), cub_count(count), 0, 64, device.stream());
  });
  launch(device, put_together, blocks_for(device, count), sorted_hashes.data(), sorted_rows.data(),
         uint64_t{count}, keys);
}

}  // namespace simjoin::gpu
