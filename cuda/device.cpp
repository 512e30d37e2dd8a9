#include "cuda/device.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "cuda/gpu_engine.hpp"

namespace simjoin {
namespace {

std::atomic<uint64_t> calls_made{0};
std::atomic<uint64_t> failing_call{0};  // its number; 0 = none
std::atomic<bool> failing_launch{false};
std::atomic<bool> device_started{false};

// The kernels use instructions of this compute capability: binary tensor core operations with AND.
constexpr int least_capability = 8;
// Left to other programs, and to what CUDA allocates behind our back.
constexpr size_t memory_reserve = size_t{512} << 20;

}  // namespace

void fail_device_call(uint64_t n, bool launch) {
  failing_launch = launch;
  failing_call = n == 0 ? 0 : calls_made.load() + n;
}

uint64_t device_calls() {
  return calls_made;
}

bool gpu_available(std::string *reason) {
  int devices = 0, device = 0, major = 0, minor = 0;
  cudaError_t result = cudaGetDeviceCount(&devices);
  if (result == cudaSuccess && devices > 0) result = cudaGetDevice(&device);
  if (result == cudaSuccess && devices > 0)
    result = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (result == cudaSuccess && devices > 0)
    result = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (result == cudaSuccess && major >= least_capability) return true;
  cudaGetLastError();  // forget it: the next call of this thread would report it again
  if (reason == nullptr) return false;
  if (result != cudaSuccess) {
    *reason = cudaGetErrorString(result);
  } else if (devices == 0) {
    *reason = "there is no GPU";
  } else {
    *reason = "the GPU has compute capability " + std::to_string(major) + "." + std::to_string(minor) +
              ", at least " + std::to_string(least_capability) + ".0 is needed";
  }
  return false;
}

bool gpu_started() {
  return device_started;
}

namespace gpu {

cudaError_t injected_fault() {
  if (++calls_made != failing_call.load(std::memory_order_relaxed)) return cudaSuccess;
  return failing_launch ? cudaErrorLaunchFailure : cudaErrorMemoryAllocation;
}

void check(cudaError_t result, const char *what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  if (result == cudaErrorMemoryAllocation) {
    throw Error(ErrorKind::limit_exceeded, "out of device memory",
                "Lower simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
  }
  throw Error(ErrorKind::device_failure,
              std::string("the GPU failed: ") + cudaGetErrorString(result) + " in " + what,
              "Set simjoin.device to cpu.");
}

namespace {

// Returns the pool that all joins of this process on a device allocate from; it keeps what is freed until it
// is trimmed.
cudaMemPool_t process_pool(int device) {
  static std::mutex mutex;
  static std::map<int, cudaMemPool_t> pools;
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
    return pool;
  }
  cudaMemPoolDestroy(pool);
  throw Error(ErrorKind::device_failure, "the GPU's memory pool cannot be set up");
}

}  // namespace

Device::Device(size_t memory_limit, size_t kept_memory) : kept_(kept_memory) {
  int device = 0;
  SIMJOIN_DEVICE_CALL(cudaGetDevice(&device));
  SIMJOIN_DEVICE_CALL(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device));
  cudaDeviceProp properties;
  SIMJOIN_DEVICE_CALL(cudaGetDeviceProperties(&properties, device));
  shared_memory_ = properties.sharedMemPerBlockOptin;
  std::snprintf(name_, sizeof name_, "%s", properties.name);
  pool_ = process_pool(device);
  size_t free = 0, total = 0;
  SIMJOIN_DEVICE_CALL(cudaMemGetInfo(&free, &total));
  uint64_t held = 0, held_in_use = 0;
  SIMJOIN_DEVICE_CALL(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &held));
  SIMJOIN_DEVICE_CALL(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &held_in_use));
  free += held - held_in_use;
  const size_t usable = free > memory_reserve ? free - memory_reserve : 0;
  limit_ = memory_limit == 0 ? usable : std::min(memory_limit, usable);
  SIMJOIN_DEVICE_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  device_started = true;
}

Device::~Device() {
  cudaStreamSynchronize(stream_);
  cudaMemPoolTrimTo(pool_, kept_);
  cudaStreamDestroy(stream_);
  cudaGetLastError();
}

void *Device::allocate(size_t bytes) {
  if (bytes > memory_left()) {
    throw Error(ErrorKind::limit_exceeded,
                "the join needs " + std::to_string((used_ + bytes) >> 20) +
                    " MB of device memory, of which " + std::to_string(limit_ >> 20) + " MB may be used",
                "Raise simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
  }
  void *data = nullptr;
  SIMJOIN_DEVICE_CALL(cudaMallocFromPoolAsync(&data, bytes, pool_, stream_));
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return data;
}

void Device::release(void *data, size_t bytes) noexcept {
  cudaFreeAsync(data, stream_);
  used_ -= bytes;
}

}  // namespace gpu
}  // namespace simjoin
