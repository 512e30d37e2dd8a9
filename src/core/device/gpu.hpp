// What the core knows of GPUs: a backend that the device layer provides, if the build has one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/device/device_costs.hpp"
#include "core/join.hpp"

namespace simjoin {

class ClusterDevice;
class FlyHashDevice;
class GraphDevice;
class SignatureDevice;
class WeightedDevice;

struct GpuDevice {
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  size_t memory_total = 0;  // bytes
  size_t memory_free = 0;
};

// The ways in which a test can lose devices. For good: little memory, a lost device, or a reason for having
// no device from the start. For now: a device that another process uses alone.
enum class DeviceLoss : uint8_t { none, short_memory, lost, no_device, no_driver, old_driver, busy };

inline constexpr std::string_view device_loss_names[] = {"none",      "short_memory", "lost", "no_device",
                                                         "no_driver", "old_driver",   "busy"};

// The finding of a look for a GPU.
struct GpuLook {
  bool usable = false;
  bool lasting = false;  // the finding will not change: there is a GPU, or there is no driver or no device
  std::string reason;    // why none is usable
};

// What a process knows about its GPU, so that it looks only once: a look may take a while. Any thread may
// ask.
class GpuSearch {
 public:
  explicit GpuSearch(std::function<GpuLook()> look) : look_(std::move(look)) {}

  // Returns whether a GPU can be used. Looks for one if that is unknown. `reason` gets why not.
  bool available(std::string &reason);
  // Lets the next call look anew if the last look failed for a reason that may have passed.
  void look_again();
  void forget();

 private:
  const std::function<GpuLook()> look_;
  std::mutex mutex_;
  bool known_ = false;
  GpuLook found_;
};

// The GPUs that a process can use, by number. A look that finds none may have failed, so the next call looks
// again. Any thread may ask.
class GpuList {
 public:
  explicit GpuList(std::function<std::vector<int>()> look) : look_(std::move(look)) {}

  std::vector<int> get();

 private:
  const std::function<std::vector<int>()> look_;
  std::mutex mutex_;
  std::vector<int> found_;
};

class GpuBackend {
 public:
  virtual ~GpuBackend() = default;

  // Returns whether this process can use a GPU, maybe that of another process; `reason` gets why not. The
  // first call may take a while.
  virtual bool available(std::string &reason) = 0;
  // Called before each query that may use a GPU. A reason for which `available` found none may have passed,
  // unless there is no GPU.
  virtual void look_again() {}
  // Returns whether there is a driver, without a look for a device.
  virtual bool has_driver() { return true; }
  // Returns whether the device is set up for this process, so that the next computation need not wait for
  // that.
  virtual bool started() const = 0;
  // Sets the device up for the joins of this process, if there is one and it is not set up. Throws what
  // make_engine() throws. Any thread may call it, beside other work.
  virtual void set_up() {}
  // Returns the slowdown of the first GPU. Only called if the backend is available.
  virtual GpuSlowdown slowdown() { return {}; }
  // Sets the time without a computation on a GPU after which the process gives back what it holds of the
  // GPUs; 0 = never.
  virtual void set_idle_timeout(std::chrono::milliseconds) {}
  // Returns the usable GPUs; none, and no error, if there is no driver.
  virtual std::vector<GpuDevice> devices() { return {}; }
  // Page-locks memory, if that makes copies to and from the devices faster.
  virtual void lock_memory(void *, size_t) {}
  // Undoes that. Memory must not go back to the system before: later memory at its place would seem to be
  // page-locked, and devices would still read the old pages.
  virtual void unlock_memory(void *) noexcept {}
  // Returns the bytes of device memory that this process holds for computations.
  virtual size_t memory_held() { return 0; }
  // Returns an engine on a GPU, which it touches from the first set on. Failures of the device are Errors of
  // kind device_failure; too little device memory is limit_exceeded.
  virtual std::unique_ptr<JoinEngine> make_engine(const JoinSpec &spec) = 0;
  // Returns the hasher of vectors on the GPU (core/flyhash/flyhash_device.hpp); null if the backend has none.
  virtual FlyHashDevice *flyhash() { return nullptr; }
  // Returns the signer on the GPU, which it touches on first use; null if the backend has none.
  virtual SignatureDevice *signatures() { return nullptr; }
  // Returns the computations over graphs (core/graph/graph_device.hpp); null if the backend has none.
  virtual GraphDevice *graphs() { return nullptr; }
  // Returns the search of joins of sets with weights (core/weighted/weighted_device.hpp); null if the backend
  // has none.
  virtual WeightedDevice *weighted() { return nullptr; }
  // Returns an index of document clusters on a GPU (core/clusters/cluster_device.hpp), within `memory_limit`
  // bytes of its memory; 0 = most of the free memory. Only called if the backend is available. Throws Error
  // device_unavailable if it has none.
  virtual std::unique_ptr<ClusterDevice> make_cluster_device(size_t memory_limit) {
    (void)memory_limit;
    throw Error(ErrorKind::device_unavailable, "the GPU engine has no clusters");
  }
  // Test hook: makes the n-th device call from now on fail; 0 turns it off. The call finds too little memory
  // or, if `launch` is set, its launch fails.
  virtual void fail_call(uint64_t n, bool launch) {
    (void)n;
    (void)launch;
  }
  // Test hook: lets every device call fail from the n-th on (1 = the next) until `none` turns it off.
  virtual void lose_device(uint64_t n, DeviceLoss loss) {
    (void)n;
    (void)loss;
  }
};

// The backend of this process; null in a build without the device layer. Joins of sets, with and without
// weights, ask the second one: it is the same unless another process joins for this one. Any thread may ask
// for them, and for what follows.
GpuBackend *gpu_backend();
GpuBackend *join_backend();
// Sets both. Without `for_joins` joins use `backend`, too.
void set_gpu_backend(GpuBackend *backend, GpuBackend *for_joins = nullptr);

// The backend for NVIDIA GPUs. Only defined in a build with the device layer.
GpuBackend &cuda_backend();

// Why this process has given the GPU up for good, because it failed; empty where it has not.
std::string gpu_failure();
void give_gpu_up(std::string failure);

// The milliseconds that computations of this process would have saved on a GPU that was set up, since one was
// last looked for. Small savings do not count, since a GPU that is set up takes memory of it.
double missed_on_gpu();
// Adds what a part of a computation would have saved, after `before_ms` of its earlier parts, and returns the
// sum of both.
double miss_on_gpu(double saved_ms, double before_ms = 0);
void forget_what_was_missed();

// Returns why no computation of this process can run on a GPU, as far as is known without touching one; empty
// where one may.
std::string no_gpu_reason();

}  // namespace simjoin
