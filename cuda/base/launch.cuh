// Launches of kernels and of CUB's device-wide algorithms: grids in 64 bits, every launch checked.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

inline constexpr int block_threads = 256;
inline constexpr int warp_threads = 32;
inline constexpr int block_warps = block_threads / warp_threads;

// Returns the number of blocks for a grid-stride kernel over `count` items of `threads_per_item` threads
// each.
inline unsigned blocks_for(const Device &device, uint64_t count, uint64_t threads_per_item = 1) {
  // Enough blocks to even out the load, few enough to keep indexing cheap.
  constexpr uint64_t waves = 16;
  const uint64_t most = static_cast<uint64_t>(device.processors()) * 8 * waves;
  const uint64_t wanted = (count * threads_per_item + block_threads - 1) / block_threads;
  return static_cast<unsigned>(std::clamp<uint64_t>(wanted, 1, most));
}

// A grid: the number of blocks, the threads of a block, and the bytes of dynamic shared memory of a block.
struct LaunchShape {
  LaunchShape(unsigned grid_blocks, unsigned threads_per_block = block_threads, size_t bytes = 0)
      : blocks(grid_blocks), threads(threads_per_block), shared_bytes(bytes) {}
  unsigned blocks;
  unsigned threads;
  size_t shared_bytes;
};

// Launches `kernel` on the device's stream.
template <typename... Parameters, typename... Arguments>
void launch(const Device &device, void (*kernel)(Parameters...), const LaunchShape &shape,
            Arguments... arguments) {
  constexpr size_t default_shared_bytes = size_t{48} << 10;  // a kernel must request more
  if (shape.shared_bytes > default_shared_bytes) {
    SIMJOIN_DEVICE_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shape.shared_bytes)));
  }
  check(injected_fault(), "kernel launch");
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, device.stream()>>>(arguments...);
  check(cudaGetLastError(), "kernel launch");
}

// Runs a CUB algorithm. The first call(scratch, bytes) has null for `scratch` and learns the size, the second
// one has the memory.
template <typename Call>
void with_scratch(Device &device, Call &&call) {
  size_t bytes = 0;
  SIMJOIN_DEVICE_CALL(call(nullptr, bytes));
  DeviceBuffer<char> scratch(device, std::max<size_t>(bytes, 1));
  SIMJOIN_DEVICE_CALL(call(static_cast<void *>(scratch.data()), bytes));
}

// A loop over all i < count, divided among all threads of the grid.
#define SIMJOIN_GRID_STRIDE(i, count)                                             \
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < (count); \
       i += uint64_t{gridDim.x} * blockDim.x)

}  // namespace simjoin::gpu
