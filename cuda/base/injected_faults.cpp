#include "cuda/base/injected_faults.hpp"

#include <atomic>
#include <iterator>

namespace simjoin {
namespace {

std::atomic<uint64_t> calls_made{0};
std::atomic<uint64_t> failing_call{0};  // number of the call; 0 = none
std::atomic<bool> failing_launch{false};
std::atomic<uint64_t> lost_from{0};  // first call that fails on a lost device; 0 = none
std::atomic<DeviceLoss> loss_of_device{DeviceLoss::none};

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

DeviceLoss injected_loss() {
  return lost_from == 0 ? DeviceLoss::none : loss_of_device.load();
}

}  // namespace gpu
}  // namespace simjoin
