// Test hooks that make device calls fail. Calls that look for GPUs or clean up are exempt.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/device/gpu.hpp"

namespace simjoin {

// Makes the n-th device call from now on (1 = the next) fail. The error is a failed launch if `launch` is
// set, else out of memory. 0 turns it off.
void fail_device_call(uint64_t n, bool launch);
// Makes every device call fail from the n-th on. `DeviceLoss::none` turns it off.
void lose_device(uint64_t n, DeviceLoss loss);
// Returns the number of device calls made so far in this process.
uint64_t device_calls();

namespace gpu {

// Returns the error that replaces the next call, or success if no fault is due.
cudaError_t injected_fault();
// Returns how the device is lost at present.
DeviceLoss injected_loss();

}  // namespace gpu
}  // namespace simjoin
