// Which kernel compares signatures. No CUDA header is needed to choose one.
#pragma once

#include <cstdint>

namespace simjoin {

// What compares the signatures of the bitmap filter. All leave the same candidates.
enum class BitmapKernel : uint8_t {
  fastest,    // of the device
  warpgroup,  // binary tensor cores fed from shared memory; compute capability 9.0
  warp,       // binary tensor cores fed from registers
  popcount,   // the ordinary cores
};

}  // namespace simjoin
