// The GPU backend of this build, as the core sees it.
#include <cuda_runtime_api.h>

#include "core/gpu.hpp"
#include "cuda/cluster_index.hpp"
#include "cuda/flyhash.hpp"
#include "cuda/gpu_engine.hpp"
#include "cuda/graph_device.hpp"
#include "cuda/pair_verifier.hpp"
#include "cuda/signature_device.hpp"

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

  bool started() const override { return gpu_started(); }

  // Asking for the free memory sets a device up for the process; what was not set up before is reset.
  std::vector<GpuDevice> devices() override {
    std::vector<GpuDevice> devices;
    int count = 0, current = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    cudaGetDevice(&current);
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp properties;
      GpuDevice device;
      if (cudaGetDeviceProperties(&properties, i) != cudaSuccess || cudaSetDevice(i) != cudaSuccess ||
          cudaMemGetInfo(&device.memory_free, &device.memory_total) != cudaSuccess) {
        continue;
      }
      device.name = properties.name;
      device.major = properties.major;
      device.minor = properties.minor;
      devices.push_back(device);
      if (!gpu_started(i)) cudaDeviceReset();
    }
    if (count > 0) cudaSetDevice(current);
    cudaGetLastError();
    return devices;
  }

  std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) override {
    GpuOptions options;
    options.memory_limit = spec.gpu_memory_limit;
    options.gpus = spec.gpus;
    if (spec.algorithm == Algorithm::cpu_gpu) return make_cpu_engine(spec, make_gpu_verifier(options));
    options.strategy = strategy_of(spec.algorithm);
    return make_gpu_engine(spec, options);
  }

  FlyHashDevice *flyhash() override { return &flyhash_; }
  SignatureDevice *signatures() override { return &signatures_; }
  GraphDevice *graphs() override { return &cuda_graphs(); }

  std::unique_ptr<ClusterDevice> make_cluster_device(size_t memory_limit) override {
    return make_gpu_cluster_device(memory_limit);
  }

  void fail_call(uint64_t n, bool launch) override { fail_device_call(n, launch); }

  // What was found out about the devices is forgotten: whether there are any may change, too.
  void lose_device(uint64_t n, DeviceLoss loss) override {
    simjoin::lose_device(n, loss);
    search_.forget();
  }

 private:
  GpuSearch search_{look_for_gpu};
  gpu::CudaFlyHashDevice flyhash_;
  gpu::CudaSignatures signatures_;
};

}  // namespace

GpuBackend &cuda_backend() {
  static CudaBackend backend;
  return backend;
}

}  // namespace simjoin
