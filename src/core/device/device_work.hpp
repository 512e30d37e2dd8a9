// Computations that may run on a GPU: the choice of the device, and what follows if a GPU fails.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/device/gpu.hpp"
#include "core/join.hpp"

namespace simjoin {

inline constexpr const char *no_gpu_hint = "Set simjoin.device to auto or cpu.";
// The reason of Device::automatic for not using a GPU that works.
inline constexpr const char *cpu_is_sooner = "the CPU is estimated to be sooner";

// Returns the reason to tell the user why Device::automatic used no GPU. The choice does not look for a
// driver. If there is none, that is the reason, and not that the CPU is sooner.
std::string told_reason(const std::string &refused);

// Returns the backend of a usable GPU. Throws device_failure if there is none.
GpuBackend &require_gpu();

// Returns the milliseconds that setting the device up adds to the first computation of this process.
double gpu_start_ms();

// Returns whether a computation is to run on the GPU. It takes about `cpu_ms` milliseconds on all threads of
// the CPU and `gpu_ms` on an H200 that is set up, transfers included. Throws device_failure if `device` is
// Device::gpu and there is none. `refused` (may be null) gets the reason why Device::automatic uses no GPU.
bool use_gpu(Device device, double cpu_ms, double gpu_ms, std::string *refused = nullptr);

// The device that a computation ran on, in one part or several.
struct DeviceUse {
  bool gpu = false;     // some of it on a GPU
  std::string refused;  // why the last part ran on the CPU; empty if no GPU was asked for
};

// Returns what to tell the user if a computation continues on the CPU after this error of the GPU. Returns
// null for any other error, after which it cannot continue. This process does not use a failed GPU again. It
// does use one that had too little memory or was not available.
std::unique_ptr<Notice> notice_of_gpu(const Error &error);

// Returns gpu(GpuBackend &) if use_gpu() says so, otherwise cpu(). Under Device::automatic, cpu() also
// replaces a gpu() that failed or had too little memory. Then `notice` gets what to tell the user. `use` gets
// what happened.
template <class Gpu, class Cpu>
auto run_on_device(Device device, double cpu_ms, double gpu_ms, std::unique_ptr<Notice> &notice,
                   DeviceUse &use, Gpu &&gpu, Cpu &&cpu) {
  if (use_gpu(device, cpu_ms, gpu_ms, &use.refused)) {
    use.gpu = true;
    try {
      return gpu(*gpu_backend());
    } catch (const Error &error) {
      notice = notice_of_gpu(error);
      if (!notice || device == Device::gpu) throw;
      use.refused = error.what();
    }
  }
  return cpu();
}

}  // namespace simjoin
