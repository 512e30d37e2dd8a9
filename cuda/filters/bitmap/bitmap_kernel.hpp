// The kernels that compare signatures. Callers need no CUDA header to choose one.
#pragma once

#include <cstdint>

namespace simjoin {

// All kernels leave the same candidates.
enum class BitmapKernel : uint8_t {
  fastest,    // of the device
  warpgroup,  // binary tensor cores fed from shared memory; compute capability 9.0
  warp,       // binary tensor cores fed from registers
  popcount,   // ordinary cores
};

}  // namespace simjoin
