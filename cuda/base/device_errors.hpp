// What an error of a device call means for those who use the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace simjoin::gpu {

enum class Trouble : uint8_t {
  short_memory,  // on the device; smaller work may fit
  passing,       // the device cannot be used now: another process has it, or what serves it is not ready
  absent,        // there is no device, or no driver for it
  lost,          // this process cannot use the device any more, or is at fault itself
};

Trouble trouble_of(cudaError_t error);

}  // namespace simjoin::gpu
