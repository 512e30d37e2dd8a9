// The GPUs that this process can use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/device/gpu.hpp"

namespace simjoin {

// Bytes of a GPU's memory that this process keeps for its next join, unless a caller says otherwise.
inline constexpr size_t kept_device_memory = size_t{1} << 30;

// Returns whether there is a driver, and leaves the GPUs alone. Any of CUDA's own functions sets up all of
// the host before it answers: 0.13 s with one GPU, a second with four.
bool gpu_driver_loads();
// Looks for a GPU that this process can use.
GpuLook look_for_gpu();
// Returns whether this process can use a GPU. If not, `reason` gets the cause; it may be null.
bool gpu_available(std::string *reason);
// Returns the numbers in CUDA of the devices that joins can use.
std::vector<int> usable_gpus();
// Returns how much slower than the reference the first usable GPU is.
GpuSlowdown gpu_slowdown();

namespace gpu {

// Makes a usable GPU the calling thread's current one. `number` counts usable GPUs, modulo their number.
void use_device(int number);

}  // namespace gpu
}  // namespace simjoin
