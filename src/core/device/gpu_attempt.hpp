// Computations that may run on a GPU: the choice of the device, and what follows if a GPU fails.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/background_task.hpp"
#include "core/base/error.hpp"
#include "core/device/gpu.hpp"
#include "core/join.hpp"

namespace simjoin {

inline constexpr const char *no_gpu_hint = "Set simjoin.device to auto or cpu.";
// The reason of Device::automatic for not using a GPU that works.
inline constexpr const char *cpu_is_faster = "the CPU is estimated to be faster";
inline constexpr const char *no_gpu_driver = "there is no GPU driver";

// Returns the reason, for the user, why Device::automatic used no GPU. Most choices do not look for a
// driver. If there is none, that is the reason, and not that the CPU is faster.
std::string told_reason(const std::string &refused);

// Throws device_failure: there is no GPU for this reason.
[[noreturn]] void throw_no_gpu(const std::string &reason);

// Sets a GPU up for a join on a thread of its own, while the join takes its input.
class GpuStart {
 public:
  bool is_begun() const { return task_ != nullptr; }
  // Begins, and returns whether that ends within a time.
  bool is_done(std::chrono::microseconds wait);
  // Throws the Error of a start that is done and failed, once.
  void check();

 private:
  std::exception_ptr failure_;
  std::unique_ptr<BackgroundTask> task_;
};

// Returns whether `saved_ms` is more than setting a device up takes, less what earlier computations missed
// on it, or the backend's device is set up. The backend is asked only if that matters.
bool pays_for_gpu_start(double saved_ms, const GpuBackend &backend);

// The device that a computation ran on, in one part or several.
struct DeviceOutcome {
  bool gpu = false;     // some of it ran, or failed, on a GPU
  std::string refused;  // why the last part ran on the CPU; empty if no GPU was asked for
};

// Returns the notice for the user if a computation continues on the CPU after this error of the GPU, and
// null for any other error, after which it cannot continue. This process does not use a failed GPU again. It
// does use one that had too little memory or was not available.
std::unique_ptr<Notice> notice_of_gpu(const Error &error);

// The attempt to run a computation on a GPU, in one part or several. Under Device::automatic the CPU replaces
// a GPU that fails or has too little memory, for this part and all others.
//
// Parts are chosen and run one after the other, on any thread. Meanwhile other threads may ask what happened.
class GpuAttempt {
 public:
  // `backend` returns the backend to use: gpu_backend or join_backend.
  explicit GpuAttempt(Device device, GpuBackend *(*backend)() = gpu_backend)
      : device_(device), backend_(backend) {}

  Device device() const { return device_; }
  // Chooses the device of the next part, and returns whether it is the GPU. The part takes about `cpu_ms`
  // milliseconds on all threads of the CPU and `gpu_ms` on an H200 that is set up, transfers included. If
  // another process has the GPU, `bytes` go there. Parts that would each save less than a start takes do so
  // together, with those of other computations. Throws device_failure if `device` is Device::gpu and there is
  // none.
  bool choose(double cpu_ms, double gpu_ms, double bytes = 0);
  // Leaves the next part to the CPU for this reason.
  void refuse(std::string reason);
  // Returns whether the GPU has failed, so that it is not chosen again.
  bool failed() const;

  // Returns gpu(GpuBackend &) if the GPU is chosen, otherwise cpu(). Also returns cpu() if gpu() fails and
  // can be replaced.
  template <class Gpu, class Cpu>
  auto run(Gpu &&gpu, Cpu &&cpu) {
    if (begin()) {
      try {
        return gpu(*backend_());
      } catch (const Error &error) {
        if (!leave_gpu(error)) throw;
      }
    }
    return cpu();
  }
  // Notes an error of the GPU and returns whether the CPU can replace it.
  bool leave_gpu(const Error &error);

  // Returns the notice of a failure since the last call; null if there was none.
  std::unique_ptr<Notice> take_notice();
  DeviceOutcome outcome() const;

 private:
  std::string reason_against(double cpu_ms, double gpu_ms, double bytes);
  bool begin();

  const Device device_;
  GpuBackend *(*const backend_)();
  bool chosen_ = false;
  double missed_ms_ = 0;      // what parts would have saved on a GPU that was set up
  mutable std::mutex mutex_;  // guards what follows
  bool failed_ = false;
  DeviceOutcome outcome_;
  std::unique_ptr<Notice> notice_;
};

}  // namespace simjoin
