#include "cuda/base/device_memory.hpp"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "core/base/error.hpp"
#include "cuda/base/device_errors.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/base/page_locked.hpp"

namespace simjoin {
namespace {

std::atomic<uint64_t> started_devices{0};  // one bit per device

// Memory left to other programs and to CUDA's own allocations.
constexpr size_t memory_reserve = size_t{512} << 20;

}  // namespace

bool gpu_started() {
  return started_devices != 0;
}

bool gpu_started(int device) {
  return (started_devices >> (device % 64) & 1) != 0;
}

int gpus_started() {
  return std::popcount(started_devices.load());
}

namespace gpu {
namespace {

// The memory pools that all joins of this process allocate from, by device. A pool keeps freed memory until
// it is trimmed. A device with a pool counts as started, because a reset would destroy the pool.
struct ProcessPools {
  std::mutex mutex;
  std::map<int, cudaMemPool_t> pools;
};

ProcessPools &process_pools() {
  static ProcessPools &pools = *new ProcessPools;
  return pools;
}

}  // namespace

cudaMemPool_t process_pool(int device) {
  auto &[mutex, pools] = process_pools();
  const std::lock_guard lock(mutex);
  if (const auto found = pools.find(device); found != pools.end()) return found->second;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  SIMJOIN_DEVICE_CALL(cudaMemPoolCreate(&pool, &properties));
  uint64_t keep = UINT64_MAX;
  if (cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep) == cudaSuccess) {
    pools.emplace(device, pool);
    started_devices |= uint64_t{1} << (device % 64);
    return pool;
  }
  cudaMemPoolDestroy(pool);
  throw Error(ErrorKind::device_failure, "the GPU's memory pool cannot be set up");
}

size_t device_memory_limit(size_t limit) {
  int device = 0;
  SIMJOIN_DEVICE_CALL(cudaGetDevice(&device));
  cudaMemPool_t pool = process_pool(device);
  size_t free = 0, total = 0;
  SIMJOIN_DEVICE_CALL(cudaMemGetInfo(&free, &total));
  uint64_t held = 0, held_in_use = 0;
  SIMJOIN_DEVICE_CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held));
  SIMJOIN_DEVICE_CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &held_in_use));
  free += held - held_in_use;
  const size_t usable = free > memory_reserve ? free - memory_reserve : 0;
  return limit == 0 ? usable : std::min(limit, usable);
}

size_t device_memory_held() {
  auto &[mutex, pools] = process_pools();
  const std::lock_guard lock(mutex);
  size_t held = 0;
  for (const auto &[device, pool] : pools) {
    uint64_t of_pool = 0;
    if (cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &of_pool) == cudaSuccess)
      held += of_pool;
  }
  cudaGetLastError();
  return held;
}

void trim_device_memory(int number, size_t kept) noexcept {
  const std::vector<int> usable = usable_gpus();
  if (usable.empty()) return;
  try {
    cudaMemPoolTrimTo(process_pool(usable[static_cast<size_t>(number) % usable.size()]), kept);
  } catch (const Error &) {
    // A pool that cannot be made keeps nothing.
  }
  cudaGetLastError();
}

// This module links the runtime statically, so a shared runtime belongs to another library.
bool may_reset_devices() {
  const auto is_runtime = [](dl_phdr_info *library, size_t, void *) {
    return std::strstr(library->dlpi_name, "libcudart") != nullptr ? 1 : 0;
  };
  return dl_iterate_phdr(is_runtime, nullptr) == 0;
}

// Blocks of sets may still hold page-locked memory. Then the contexts stay, because unlocking needs them.
bool give_devices_back() {
  auto &[mutex, pools] = process_pools();
  const std::lock_guard lock(mutex);
  // A thread without a current device would set up the first one.
  if (!pools.empty()) cudaSetDevice(pools.begin()->first);
  free_kept_page_locked();
  if (locked_pieces() > 0) return false;
  const bool reset = may_reset_devices();
  for (const auto &[device, pool] : pools) {
    cudaMemPoolTrimTo(pool, 0);
    if (!reset) continue;
    cudaMemPoolDestroy(pool);  // the pool outlives the context
    cudaSetDevice(device);
    cudaDeviceReset();
  }
  if (reset) {
    pools.clear();
    started_devices = 0;
  }
  cudaGetLastError();
  return true;
}

}  // namespace gpu
}  // namespace simjoin
