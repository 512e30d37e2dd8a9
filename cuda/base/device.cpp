#include "cuda/base/device.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/base/device_memory.hpp"
#include "cuda/base/gpus.hpp"

namespace simjoin::gpu {
namespace {

// Properties of a device that never change. They are cached because a query takes milliseconds.
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
  // Needed even if the device is already current: it may have been given back since.
  make_current();
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

void *Device::allocate_unused(size_t bytes) {
  if (bytes > memory_left()) {
    throw Error(ErrorKind::limit_exceeded,
                "the join needs " + in_kilobytes(static_cast<double>(used_ + bytes)) +
                    " of device memory, of which " + in_kilobytes(static_cast<double>(limit_)) +
                    " may be used",
                "Raise simjoin.gpu_memory_limit, or set simjoin.device to cpu.");
  }
  void *data = nullptr;
  SIMJOIN_DEVICE_CALL(cudaMallocFromPoolAsync(&data, bytes, pool_, stream_));
  return data;
}

void *Device::allocate(size_t bytes) {
  void *data = allocate_unused(bytes);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return data;
}

void Device::secure(size_t bytes) {
  if (bytes <= used_) return;
  cudaFreeAsync(allocate_unused(bytes - used_), stream_);
}

// Without access, copies pass the host.
void Device::let_read(const Device &other) const noexcept {
  int can = 0;
  if (other.number_ != number_ && cudaDeviceCanAccessPeer(&can, other.number_, number_) == cudaSuccess &&
      can != 0) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = other.number_;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    cudaMemPoolSetAccess(pool_, &access, 1);
  }
  cudaGetLastError();
}

void Device::release(void *data, size_t bytes) noexcept {
  cudaFreeAsync(data, stream_);
  used_ -= bytes;
}

}  // namespace simjoin::gpu
