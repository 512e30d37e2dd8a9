// Device errors as exceptions, and what they mean for the callers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/base/injected_faults.hpp"

namespace simjoin::gpu {

enum class Trouble : uint8_t {
  short_memory,  // the device has too little memory left; smaller work may fit
  passing,       // the device cannot be used now: another process has it, or a service is not ready
  absent,        // there is no device, or no driver for it
  lost,          // this process cannot use the device any more, or made an error itself
};

Trouble trouble_of(cudaError_t error);

// Throws Error unless `result` is success: limit_exceeded if device memory ran out, device_unavailable if the
// trouble may pass, device_failure otherwise.
void check(cudaError_t result, const char *what);

// Wraps every device call whose failure fails a computation, so that tests can make it fail. Calls that look
// for GPUs or clean up are not wrapped.
#define SIMJOIN_DEVICE_CALL(call)                                                        \
  do {                                                                                   \
    const cudaError_t simjoin_fault = ::simjoin::gpu::injected_fault();                  \
    ::simjoin::gpu::check(simjoin_fault != cudaSuccess ? simjoin_fault : (call), #call); \
  } while (false)

}  // namespace simjoin::gpu
