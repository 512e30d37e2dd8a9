// The GPU backend of this build, behind the interface of the core.
#include <cuda_runtime_api.h>

#include <map>
#include <utility>

#include "core/base/idle_release.hpp"
#include "core/base/worker_pool.hpp"
#include "core/device/gpu.hpp"
#include "cuda/base/device_memory.hpp"
#include "cuda/base/device_use.hpp"
#include "cuda/base/gpus.hpp"
#include "cuda/base/injected_faults.hpp"
#include "cuda/clusters/cluster_index.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/engine/pair_verifier.hpp"
#include "cuda/flyhash/flyhash.hpp"
#include "cuda/graph/graph_device.hpp"
#include "cuda/minhash/signature_device.hpp"
#include "cuda/weighted/weighted_search.hpp"

namespace simjoin {
namespace {

GpuOptions::Strategy strategy_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bitmap:
      return GpuOptions::Strategy::bitmap;
    case Algorithm::gssjoin:
      return GpuOptions::Strategy::gssjoin;
    case Algorithm::fgssjoin:
      return GpuOptions::Strategy::fgssjoin;
    case Algorithm::sf_gssjoin:
      return GpuOptions::Strategy::sf_gssjoin;
    default:
      return GpuOptions::Strategy::automatic;
  }
}

class CudaBackend final : public GpuBackend {
 public:
  bool available(std::string &reason) override { return search_.available(reason); }
  void look_again() override { search_.look_again(); }

  bool has_driver() override { return gpu_driver_loads(); }

  bool started() const override { return gpu_started(); }

  void set_up() override {
    std::string reason;
    if (!available(reason)) return;
    const SignalsBlocked blocked;  // threads that CUDA starts inherit the mask
    const gpu::DeviceUse use;
    gpu::use_device(0);
    gpu::device_memory_limit(0);  // makes the pool
  }

  GpuSlowdown slowdown() override { return gpu_slowdown(); }

  void set_idle_timeout(std::chrono::milliseconds timeout) override {
    gpu::idle_release().set_timeout(timeout);
  }

  // Asking for free memory, or making a device current, sets the device up for the process. A device that was
  // not set up before is reset afterwards. The thread's current device is asked last: it stays current, and
  // nothing sets it up again.
  std::vector<GpuDevice> devices() override {
    const SignalsBlocked blocked;  // threads that CUDA starts inherit the mask
    std::map<int, GpuDevice> devices;
    int count = 0, current = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    const gpu::DeviceUse use;
    cudaGetDevice(&current);
    for (int i = 1; i <= count; ++i) look_at((current + i) % count, devices);
    cudaGetLastError();
    std::vector<GpuDevice> in_order;
    for (auto &[number, device] : devices) in_order.push_back(std::move(device));
    return in_order;
  }

  // The memory stays page-locked, so the devices stay in use. Copies work without page-locking.
  void lock_memory(void *data, size_t bytes) override {
    const SignalsBlocked blocked;
    static const gpu::DeviceUse use;
    gpu::use_device(0);
    cudaHostRegister(data, bytes, cudaHostRegisterPortable);
    cudaGetLastError();
  }

  void unlock_memory(void *data) noexcept override {
    const SignalsBlocked blocked;
    cudaHostUnregister(data);
    cudaGetLastError();
  }

  size_t memory_held() override { return gpu::device_memory_held(); }

  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    if (spec.algorithm == Algorithm::cpu_gpu)
      return make_cpu_engine(spec, make_gpu_verifier(spec.gpu_memory_limit));
    GpuOptions options;
    options.memory_limit = spec.gpu_memory_limit;
    options.gpus = spec.gpus;
    options.strategy = strategy_of(spec.algorithm);
    return make_gpu_engine(spec, options);
  }

  FlyHashDevice *flyhash() override { return &flyhash_; }
  SignatureDevice *signatures() override { return &signatures_; }
  GraphDevice *graphs() override { return &cuda_graphs(); }
  WeightedDevice *weighted() override { return &weighted_; }

  std::unique_ptr<ClusterDevice> make_cluster_device(size_t memory_limit) override {
    return make_gpu_cluster_device(memory_limit);
  }

  void fail_call(uint64_t n, bool launch) override { fail_device_call(n, launch); }

  // Forgets what was found out about the devices, because their number may change, too.
  void lose_device(uint64_t n, DeviceLoss loss) override {
    simjoin::lose_device(n, loss);
    search_.forget();
  }

 private:
  // Adds the properties of a device, and makes it the thread's current one.
  static void look_at(int number, std::map<int, GpuDevice> &devices) {
    cudaDeviceProp properties;
    GpuDevice device;
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess || cudaSetDevice(number) != cudaSuccess)
      return;
    if (cudaMemGetInfo(&device.memory_free, &device.memory_total) == cudaSuccess) {
      device.name = properties.name;
      device.major = properties.major;
      device.minor = properties.minor;
      devices.emplace(number, std::move(device));
    }
    if (!gpu_started(number) && gpu::may_reset_devices()) cudaDeviceReset();
  }

  GpuSearch search_{look_for_gpu};
  gpu::CudaFlyHashDevice flyhash_;
  gpu::CudaSignatures signatures_;
  gpu::CudaWeightedDevice weighted_;
};

}  // namespace

GpuBackend &cuda_backend() {
  static CudaBackend backend;
  return backend;
}

}  // namespace simjoin
