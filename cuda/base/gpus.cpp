#include "cuda/base/gpus.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "core/base/error.hpp"
#include "cuda/base/device_errors.hpp"
#include "cuda/base/injected_faults.hpp"

namespace simjoin {
namespace {

// The kernels use instructions of this compute capability: binary tensor core operations with AND.
constexpr int least_capability = 8;

// Returns the reason why there is no device, in words for the user.
std::string describe(cudaError_t error) {
  if (error != cudaErrorInsufficientDriver && error != cudaErrorSystemDriverMismatch) {
    return cudaGetErrorString(error);
  }
  int supported = 0;
  const DeviceLoss loss = gpu::injected_loss();
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

// Stops at the first usable device and leaves the others alone.
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
  // The error must be cleared: the next call of this thread would report it again.
  cudaGetLastError();
  if (result != cudaSuccess)
    return {false, gpu::trouble_of(result) == gpu::Trouble::absent, describe(result)};
  if (devices == 0) return {false, true, "there is no GPU"};
  return {false, true,
          "the GPU has compute capability " + std::to_string(major) + "." + std::to_string(minor) +
              ", at least " + std::to_string(least_capability) + ".0 is needed"};
}

bool gpu_driver_loads() {
  static const void *const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return driver != nullptr;
}

bool gpu_available(std::string *reason) {
  const GpuLook look = look_for_gpu();
  if (reason != nullptr) *reason = look.reason;
  return look.usable;
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
  constexpr double khz_per_ghz = 1e6, transfers_per_cycle = 2, bits_per_byte = 8;
  GpuTraits traits;
  traits.capability =
      10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
  traits.processors = attribute(cudaDevAttrMultiProcessorCount);
  traits.clock_ghz = attribute(cudaDevAttrClockRate) / khz_per_ghz;
  traits.memory_gb_s = attribute(cudaDevAttrMemoryClockRate) / khz_per_ghz * transfers_per_cycle *
                       attribute(cudaDevAttrGlobalMemoryBusWidth) / bits_per_byte;
  return slowdown_of(traits);
}

namespace gpu {

void use_device(int number) {
  std::vector<int> usable = usable_gpus();
  if (usable.empty()) check(list_usable_gpus(usable), "cudaGetDeviceCount");
  if (usable.empty()) throw Error(ErrorKind::device_failure, "there is no GPU", "Set simjoin.device to cpu.");
  SIMJOIN_DEVICE_CALL(cudaSetDevice(usable[static_cast<size_t>(number) % usable.size()]));
}

}  // namespace gpu
}  // namespace simjoin
