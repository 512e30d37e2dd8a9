// A second stream of a device, for copies that overlap with its kernels.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/base/device.hpp"

namespace simjoin::gpu {

class SideStream {
 public:
  SideStream() { SIMJOIN_DEVICE_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  // Waits for the work in the stream.
  ~SideStream() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  SideStream(const SideStream &) = delete;
  SideStream &operator=(const SideStream &) = delete;

  cudaStream_t get() const { return stream_; }

  // Makes later work of the stream wait for `event`.
  void wait_for(const Event &event) { wait(stream_, event); }
  static void wait(cudaStream_t stream, const Event &event) {
    SIMJOIN_DEVICE_CALL(cudaStreamWaitEvent(stream, event.get(), 0));
  }

  template <typename T>
  void copy_to_device(T *to, const T *from, size_t count) {
    if (count == 0) return;
    SIMJOIN_DEVICE_CALL(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream_));
  }
  template <typename T>
  void copy_to_host(T *to, const T *from, size_t count) {
    if (count == 0) return;
    SIMJOIN_DEVICE_CALL(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream_));
  }

 private:
  DeviceUse use_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace simjoin::gpu
