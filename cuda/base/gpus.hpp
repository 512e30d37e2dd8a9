// The GPUs that this process can use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"

namespace simjoin {

// Bytes of a GPU's memory that this process keeps for its next use of it, unless a caller says otherwise.
inline constexpr size_t kept_device_memory = size_t{1} << 30;

// Looks for a GPU that this process can use.
GpuLook look_for_gpu();
// Returns whether this process can use a GPU; `reason` (may be null) gets why not.
bool gpu_available(std::string *reason);
// Returns the devices that joins can use, as CUDA numbers them.
std::vector<int> usable_gpus();
// Returns how long the first of them takes.
GpuSlowdown gpu_slowdown();

namespace gpu {

// Makes the GPU of this number, of those that can be used and modulo how many these are, the calling
// thread's.
void use_device(int number);

}  // namespace gpu
}  // namespace simjoin
