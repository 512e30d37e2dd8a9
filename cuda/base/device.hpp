// Device memory, streams and events as objects.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "cuda/base/device_errors.hpp"
#include "cuda/base/device_use.hpp"
#include "cuda/base/gpus.hpp"

namespace simjoin::gpu {

class Event {
 public:
  Event() { SIMJOIN_DEVICE_CALL(cudaEventCreate(&event_)); }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) { SIMJOIN_DEVICE_CALL(cudaEventRecord(event_, stream)); }
  void wait() const { SIMJOIN_DEVICE_CALL(cudaEventSynchronize(event_)); }
  // Returns the milliseconds from `begin` to this event. Both must have happened.
  float since(const Event &begin) const {
    float milliseconds = 0;
    SIMJOIN_DEVICE_CALL(cudaEventElapsedTime(&milliseconds, begin.event_, event_));
    return milliseconds;
  }

 private:
  DeviceUse use_;
  cudaEvent_t event_ = nullptr;
};

// Returns a size as a text for the user, rounded up.
std::string in_kilobytes(double bytes);

// The device of one join: a stream, and device memory counted against a limit. The destructor waits for the
// stream and gives all memory back to the device, except `kept_memory` bytes for the next join of the
// process. Buffers must not outlive it.
class Device {
 public:
  // Uses the thread's current GPU. If that GPU is unusable, the first usable one becomes the thread's current
  // GPU. Streams and events made before may then belong to another GPU.
  explicit Device(size_t memory_limit, size_t kept_memory = kept_device_memory);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  // Makes this GPU the calling thread's current one. A thread that did not make this object calls it before
  // any work on the GPU. Page-locked memory and the work of destructors count as such work.
  void make_current() const { SIMJOIN_DEVICE_CALL(cudaSetDevice(number_)); }
  // The same for destructors: it cannot fail.
  void make_current_or_not() const noexcept {
    cudaSetDevice(number_);
    cudaGetLastError();
  }

  cudaStream_t stream() const { return stream_; }
  int processors() const { return processors_; }
  // Returns the compute capability: ten times the major number plus the minor one.
  int capability() const { return capability_; }
  // Returns the most bytes of shared memory that a block can have.
  size_t shared_memory() const { return shared_memory_; }
  const char *name() const { return name_; }
  size_t memory_limit() const { return limit_; }
  size_t memory_used() const { return used_; }
  size_t memory_peak() const { return peak_; }
  size_t memory_left() const { return limit_ - used_; }

  void synchronize() const { SIMJOIN_DEVICE_CALL(cudaStreamSynchronize(stream_)); }
  void *allocate(size_t bytes);
  void release(void *data, size_t bytes) noexcept;
  // Lets the GPU of `other` read this GPU's memory, if there is a way that does not pass the host.
  void let_read(const Device &other) const noexcept;
  int number() const { return number_; }
  // Reserves device memory for later allocations of this process until `bytes` are used or reserved. No other
  // process can take it meanwhile. Throws limit_exceeded if there is too little.
  void secure(size_t bytes);

 private:
  // Returns memory that does not count as used. Throws limit_exceeded.
  void *allocate_unused(size_t bytes);

  DeviceUse use_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  int number_ = 0;  // the device's number in CUDA
  int processors_ = 0;
  int capability_ = 0;
  size_t shared_memory_ = 0;
  char name_[256] = {};
  size_t limit_ = 0;
  size_t used_ = 0;
  size_t peak_ = 0;
  size_t kept_;
};

// An array in device memory, allocated and freed in stream order. Its elements start undefined.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Device &device, size_t size) : device_(&device), size_(size) {
    if (size > std::numeric_limits<size_t>::max() / sizeof(T)) {
      throw Error(ErrorKind::limit_exceeded, "the join needs more memory than can be addressed");
    }
    if (size > 0) data_ = static_cast<T *>(device.allocate(size * sizeof(T)));
  }
  ~DeviceBuffer() { reset(); }
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;
  DeviceBuffer(DeviceBuffer &&other) noexcept
      : device_(other.device_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    if (this != &other) {
      reset();
      device_ = other.device_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }

  T *data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void reset() noexcept {
    if (data_ != nullptr) device_->release(data_, size_ * sizeof(T));
    data_ = nullptr;
    size_ = 0;
  }
  // Sets every byte to `byte`.
  void fill(int byte) {
    if (size_ > 0) SIMJOIN_DEVICE_CALL(cudaMemsetAsync(data_, byte, size_ * sizeof(T), device_->stream()));
  }

 private:
  Device *device_ = nullptr;
  T *data_ = nullptr;
  size_t size_ = 0;
};

// Copies between host and device, in stream order.
template <typename T>
void copy_to_device(const Device &device, T *to, const T *from, size_t count) {
  if (count == 0) return;
  SIMJOIN_DEVICE_CALL(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, device.stream()));
}
template <typename T>
void copy_to_host(const Device &device, T *to, const T *from, size_t count) {
  if (count == 0) return;
  SIMJOIN_DEVICE_CALL(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, device.stream()));
}
template <typename T>
void copy_on_device(const Device &device, T *to, const T *from, size_t count) {
  if (count == 0) return;
  SIMJOIN_DEVICE_CALL(
      cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToDevice, device.stream()));
}
// Returns a copy of an array of another GPU, once it is complete. Calls check() between pieces.
template <typename T, typename Check>
DeviceBuffer<T> copy_from_peer(Device &device, const DeviceBuffer<T> &array, const Device &of,
                               Check &&check) {
  constexpr size_t piece = (size_t{256} << 20) / sizeof(T);
  DeviceBuffer<T> copy(device, array.size());
  for (size_t begin = 0; begin < array.size(); begin += piece) {
    check();
    const size_t count = std::min(piece, array.size() - begin);
    SIMJOIN_DEVICE_CALL(cudaMemcpyPeerAsync(copy.data() + begin, device.number(), array.data() + begin,
                                            of.number(), count * sizeof(T), device.stream()));
    device.synchronize();
  }
  return copy;
}
// Returns the value at `from`, after all earlier work of the stream.
template <typename T>
T read_value(const Device &device, const T *from) {
  T value{};
  copy_to_host(device, &value, from, 1);
  device.synchronize();
  return value;
}

}  // namespace simjoin::gpu
