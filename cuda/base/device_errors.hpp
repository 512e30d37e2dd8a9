// Device errors as exceptions, and what they mean for those who use the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/base/injected_faults.hpp"

namespace simjoin::gpu {

enum class Trouble : uint8_t {
  short_memory,  // on the device; smaller work may fit
  passing,       // the device cannot be used now: another process has it, or what serves it is not ready
  absent,        // there is no device, or no driver for it
  lost,          // this process cannot use the device any more, or is at fault itself
};

Trouble trouble_of(cudaError_t error);

// Throws Error where the result of a device call is not success: limit_exceeded where memory ran out,
// device_unavailable where the trouble may pass, device_failure otherwise.
void check(cudaError_t result, const char *what);

// Device calls whose failure fails a computation go through here, so that each can be made to fail in a test.
// Those that look for GPUs, or clean up, do not.
#define SIMJOIN_DEVICE_CALL(call)                                                        \
  do {                                                                                   \
    const cudaError_t simjoin_fault = ::simjoin::gpu::injected_fault();                  \
    ::simjoin::gpu::check(simjoin_fault != cudaSuccess ? simjoin_fault : (call), #call); \
  } while (false)

}  // namespace simjoin::gpu
