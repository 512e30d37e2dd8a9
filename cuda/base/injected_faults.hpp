// Test hooks that make device calls fail. Those that look for GPUs, or clean up, do not come through here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/device/gpu.hpp"

namespace simjoin {

// Makes the n-th device call from now on (1 = the next) fail as an out-of-memory error or, where `launch` is
// set, as a failed launch; 0 turns it off.
void fail_device_call(uint64_t n, bool launch);
// Lets every device call fail from the n-th on until `none` turns it off.
void lose_device(uint64_t n, DeviceLoss loss);
// Returns the number of device calls made so far in this process.
uint64_t device_calls();

namespace gpu {

// Returns the error that an injected fault puts in place of the call about to be made, or success.
cudaError_t injected_fault();
// Returns how the device is lost now.
DeviceLoss injected_loss();

}  // namespace gpu
}  // namespace simjoin
