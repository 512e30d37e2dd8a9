#include "cuda/base/device.hpp"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "core/base/host_pieces.hpp"
#include "core/base/idle_release.hpp"
#include "cuda/base/device_errors.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/sets/upload.hpp"

namespace simjoin {
namespace {

std::atomic<uint64_t> calls_made{0};
std::atomic<uint64_t> failing_call{0};  // its number; 0 = none
std::atomic<bool> failing_launch{false};
std::atomic<uint64_t> lost_from{0};  // the first call that a lost device fails; 0 = none is lost
std::atomic<DeviceLoss> loss_of_device{DeviceLoss::none};
std::atomic<uint64_t> started_devices{0};  // a bit each

// The kernels use instructions of this compute capability: binary tensor core operations with AND.
constexpr int least_capability = 8;
// Left to other programs, and to what CUDA allocates behind our back.
constexpr size_t memory_reserve = size_t{512} << 20;

}  // namespace

void fail_device_call(uint64_t n, bool launch) {
  failing_launch = launch;
  failing_call = n == 0 ? 0 : calls_made.load() + n;
}

void lose_device(uint64_t n, DeviceLoss loss) {
  loss_of_device = loss;
  lost_from = loss == DeviceLoss::none ? 0 : calls_made.load() + n;
}

uint64_t device_calls() {
  return calls_made;
}

namespace {

// Returns why there is no device, as its user can understand it.
std::string describe(cudaError_t error) {
  if (error != cudaErrorInsufficientDriver && error != cudaErrorSystemDriverMismatch) {
    return cudaGetErrorString(error);
  }
  int supported = 0;
  const DeviceLoss loss = lost_from == 0 ? DeviceLoss::none : loss_of_device.load();
  if (loss == DeviceLoss::none && cudaDriverGetVersion(&supported) != cudaSuccess) supported = 0;
  if (loss == DeviceLoss::old_driver) supported = 11040;
  if (supported == 0) return "there is no NVIDIA driver";
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  return "the NVIDIA driver is too old: it supports CUDA " + version(supported) + ", " +
         version(CUDART_VERSION) + " is needed";
}

}  // namespace

// One device that can be used is enough: the others are left alone.
GpuLook look_for_gpu() {
  int devices = 0, major = 0, minor = 0;
  cudaError_t result = gpu::injected_fault();
  if (result == cudaSuccess) result = cudaGetDeviceCount(&devices);
  for (int device = 0; result == cudaSuccess && device < devices && major < least_capability; ++device) {
    result = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (result == cudaSuccess)
      result = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  }
  if (result == cudaSuccess && major >= least_capability) return {true, true, {}};
  cudaGetLastError();  // forget it: the next call of this thread would report it again
  if (result != cudaSuccess)
    return {false, gpu::trouble_of(result) == gpu::Trouble::absent, describe(result)};
  if (devices == 0) return {false, true, "there is no GPU"};
  return {false, true,
          "the GPU has compute capability " + std::to_string(major) + "." + std::to_string(minor) +
              ", at least " + std::to_string(least_capability) + ".0 is needed"};
}

bool gpu_available(std::string *reason) {
  const GpuLook look = look_for_gpu();
  if (reason != nullptr) *reason = look.reason;
  return look.usable;
}

bool gpu_started() {
  return started_devices != 0;
}

bool gpu_started(int device) {
  return (started_devices >> (device % 64) & 1) != 0;
}

namespace {

cudaError_t list_usable_gpus(std::vector<int> &devices) {
  int count = 0, major = 0;
  cudaError_t result = cudaGetDeviceCount(&count);
  for (int device = 0; result == cudaSuccess && device < count; ++device) {
    result = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (result == cudaSuccess && major >= least_capability) devices.push_back(device);
  }
  cudaGetLastError();
  if (result != cudaSuccess) devices.clear();
  return result;
}

}  // namespace

std::vector<int> usable_gpus() {
  static GpuList list([] {
    std::vector<int> devices;
    list_usable_gpus(devices);
    return devices;
  });
  return list.get();
}

GpuSlowdown gpu_slowdown() {
  const std::vector<int> usable = usable_gpus();
  if (usable.empty()) return {};
  const auto attribute = [&](cudaDeviceAttr what) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, what, usable.front()) != cudaSuccess) value = 0;
    cudaGetLastError();
    return value;
  };
  constexpr double khz_a_ghz = 1e6, transfers_a_cycle = 2, bits_a_byte = 8;
  GpuTraits traits;
  traits.capability =
      10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
  traits.processors = attribute(cudaDevAttrMultiProcessorCount);
  traits.clock_ghz = attribute(cudaDevAttrClockRate) / khz_a_ghz;
  traits.memory_gb_s = attribute(cudaDevAttrMemoryClockRate) / khz_a_ghz * transfers_a_cycle *
                       attribute(cudaDevAttrGlobalMemoryBusWidth) / bits_a_byte;
  return slowdown_of(traits);
}

int gpus_started() {
  return std::popcount(started_devices.load());
}

namespace gpu {

cudaError_t injected_fault() {
  const uint64_t call = ++calls_made, lost = lost_from.load(std::memory_order_relaxed);
  if (lost != 0 && call >= lost) {
    constexpr cudaError_t errors[] = {cudaSuccess,
                                      cudaErrorMemoryAllocation,
                                      cudaErrorECCUncorrectable,
                                      cudaErrorNoDevice,
                                      cudaErrorInsufficientDriver,
                                      cudaErrorSystemDriverMismatch,
                                      cudaErrorDevicesUnavailable};
    static_assert(std::size(errors) == std::size(device_loss_names));
    return errors[static_cast<size_t>(loss_of_device.load())];
  }
  if (call != failing_call.load(std::memory_order_relaxed)) return cudaSuccess;
  return failing_launch ? cudaErrorLaunchFailure : cudaErrorMemoryAllocation;
}

void check(cudaError_t result, const char *what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  const std::string message = std::string(cudaGetErrorString(result)) + " in " + what;
  switch (trouble_of(result)) {
    case Trouble::short_memory:
      throw Error(ErrorKind::limit_exceeded, "out of device memory",
                  "Lower simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
    case Trouble::passing:
      throw Error(ErrorKind::device_unavailable, "the GPU cannot be used now: " + message,
                  "Try again later, or set simjoin.device to cpu.");
    default:
      throw Error(ErrorKind::device_failure, "the GPU failed: " + message, "Set simjoin.device to cpu.");
  }
}

namespace {

// The pools that all joins of this process allocate from, by device; they keep what is freed until they are
// trimmed. A device that has one counts as started: to reset it destroys the pool.
struct ProcessPools {
  std::mutex mutex;
  std::map<int, cudaMemPool_t> pools;
};

ProcessPools &process_pools() {
  static ProcessPools &pools = *new ProcessPools;
  return pools;
}

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

// Of one size, a power of two, each; never destroyed, as the driver may be gone before.
struct PinnedPool {
  static constexpr size_t most_kept = size_t{64} << 20;

  std::mutex mutex;
  std::multimap<size_t, void *> kept;
  size_t kept_bytes = 0;

  void free_kept() {
    const std::lock_guard lock(mutex);
    for (const auto &[size, data] : kept) cudaFreeHost(data);
    kept.clear();
    kept_bytes = 0;
  }
};

PinnedPool &pinned_pool() {
  static PinnedPool &pool = *new PinnedPool;
  return pool;
}

}  // namespace

void free_kept_page_locked() noexcept {
  HostPieces::of_process().free_kept();
  pinned_pool().free_kept();
  cudaGetLastError();
}

// This module has the runtime linked into it.
bool may_reset_devices() {
  const auto is_runtime = [](dl_phdr_info *library, size_t, void *) {
    return std::strstr(library->dlpi_name, "libcudart") != nullptr ? 1 : 0;
  };
  return dl_iterate_phdr(is_runtime, nullptr) == 0;
}

namespace {

// Gives back what this process holds of its devices while nobody uses them. Blocks of sets whose memory is
// page-locked may still be somewhere: then the contexts stay, as they are needed to undo it. Returns whether
// all is given back.
bool give_devices_back() {
  auto &[mutex, pools] = process_pools();
  const std::lock_guard lock(mutex);
  // Without a device of its own, the thread would set up the first one there is.
  if (!pools.empty()) cudaSetDevice(pools.begin()->first);
  free_kept_page_locked();
  if (locked_pieces() > 0) return false;
  const bool reset = may_reset_devices();
  for (const auto &[device, pool] : pools) {
    cudaMemPoolTrimTo(pool, 0);
    if (!reset) continue;
    cudaMemPoolDestroy(pool);  // it outlives the context
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

}  // namespace

// Never destroyed, as whoever uses a device may outlive it; its thread ends with the process, before the CUDA
// runtime does, which is used first.
IdleRelease &idle_release() {
  static IdleRelease &timer = *new IdleRelease(give_devices_back);
  static const std::unique_ptr<IdleRelease, void (*)(IdleRelease *)> ends(
      &timer, [](IdleRelease *release) { release->stop(); });
  return timer;
}

void begin_device_use() {
  idle_release().begin();
}

void end_device_use() noexcept {
  idle_release().end();
}

void *take_pinned(size_t bytes) {
  const size_t size = std::bit_ceil(bytes);
  PinnedPool &pool = pinned_pool();
  {
    const std::lock_guard lock(pool.mutex);
    if (const auto found = pool.kept.find(size); found != pool.kept.end()) {
      void *data = found->second;
      pool.kept.erase(found);
      pool.kept_bytes -= size;
      return data;
    }
  }
  void *data = nullptr;
  SIMJOIN_DEVICE_CALL(cudaHostAlloc(&data, size, cudaHostAllocPortable));
  return data;
}

// A copy may still be on its way where the work ended with an error: it would reach the next one to take the
// memory.
void give_pinned_back(void *data, size_t bytes) noexcept {
  cudaDeviceSynchronize();
  cudaGetLastError();
  const size_t size = std::bit_ceil(bytes);
  PinnedPool &pool = pinned_pool();
  try {
    const std::lock_guard lock(pool.mutex);
    if (pool.kept_bytes + size <= PinnedPool::most_kept) {
      pool.kept.emplace(size, data);
      pool.kept_bytes += size;
      return;
    }
  } catch (const std::bad_alloc &) {
    // What cannot be noted is freed.
  }
  cudaFreeHost(data);
}

void use_device(int number) {
  std::vector<int> usable = usable_gpus();
  if (usable.empty()) check(list_usable_gpus(usable), "cudaGetDeviceCount");
  if (usable.empty()) throw Error(ErrorKind::device_failure, "there is no GPU", "Set simjoin.device to cpu.");
  SIMJOIN_DEVICE_CALL(cudaSetDevice(usable[static_cast<size_t>(number) % usable.size()]));
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

void trim_device_memory(int number, size_t kept) noexcept {
  const std::vector<int> usable = usable_gpus();
  if (usable.empty()) return;
  try {
    cudaMemPoolTrimTo(process_pool(usable[static_cast<size_t>(number) % usable.size()]), kept);
  } catch (const Error &) {
    // Nothing can be kept in a pool that cannot be made.
  }
  cudaGetLastError();
}

namespace {

// What never changes of a device; asking for it takes milliseconds.
struct DeviceFacts {
  int processors = 0;
  int capability = 0;
  size_t shared_memory = 0;
  char name[256] = {};
};

const DeviceFacts &facts_of(int device) {
  static std::mutex mutex;
  static std::map<int, DeviceFacts> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(device); found != known.end()) return found->second;
  cudaDeviceProp properties;
  SIMJOIN_DEVICE_CALL(cudaGetDeviceProperties(&properties, device));
  DeviceFacts facts;
  facts.processors = properties.multiProcessorCount;
  facts.capability = properties.major * 10 + properties.minor;
  facts.shared_memory = properties.sharedMemPerBlockOptin;
  std::snprintf(facts.name, sizeof facts.name, "%s", properties.name);
  return known.emplace(device, facts).first->second;
}

}  // namespace

Device::Device(size_t memory_limit, size_t kept_memory) : kept_(kept_memory) {
  SIMJOIN_DEVICE_CALL(cudaGetDevice(&number_));
  const std::vector<int> usable = usable_gpus();
  if (!usable.empty() && std::find(usable.begin(), usable.end(), number_) == usable.end()) {
    number_ = usable.front();
  }
  make_current();  // also where the thread has it already: it may have been given back since
  const DeviceFacts &facts = facts_of(number_);
  processors_ = facts.processors;
  capability_ = facts.capability;
  shared_memory_ = facts.shared_memory;
  std::snprintf(name_, sizeof name_, "%s", facts.name);
  pool_ = process_pool(number_);
  limit_ = device_memory_limit(memory_limit);
  SIMJOIN_DEVICE_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Device::~Device() {
  cudaStreamSynchronize(stream_);
  cudaMemPoolTrimTo(pool_, kept_);
  cudaStreamDestroy(stream_);
  cudaGetLastError();
}

std::string in_kilobytes(double bytes) {
  return std::to_string(static_cast<uint64_t>(std::ceil(bytes / 1024))) + " kB";
}

void *Device::allocate(size_t bytes) {
  if (bytes > memory_left()) {
    throw Error(ErrorKind::limit_exceeded,
                "the join needs " + in_kilobytes(static_cast<double>(used_ + bytes)) +
                    " of device memory, of which " + in_kilobytes(static_cast<double>(limit_)) +
                    " may be used",
                "Raise simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
  }
  void *data = nullptr;
  SIMJOIN_DEVICE_CALL(cudaMallocFromPoolAsync(&data, bytes, pool_, stream_));
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return data;
}

void Device::secure(size_t bytes) {
  if (bytes <= used_) return;
  const size_t missing = bytes - used_;
  if (missing > memory_left()) {
    throw Error(ErrorKind::limit_exceeded, "out of device memory",
                "Raise simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
  }
  void *data = nullptr;
  SIMJOIN_DEVICE_CALL(cudaMallocFromPoolAsync(&data, missing, pool_, stream_));
  cudaFreeAsync(data, stream_);
}

void Device::release(void *data, size_t bytes) noexcept {
  cudaFreeAsync(data, stream_);
  used_ -= bytes;
}

}  // namespace gpu
}  // namespace simjoin
