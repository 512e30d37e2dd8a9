// The device memory that this process holds: a pool a device, from which all its joins allocate.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace simjoin {

// Returns whether a GPU is set up for this process: a join has used it.
bool gpu_started();
// Returns the same of the device that CUDA gives this number.
bool gpu_started(int device);
// Returns how many of them are set up.
int gpus_started();

namespace gpu {

// Returns the device's pool, which is made where there is none.
cudaMemPool_t process_pool(int device);
// Returns how much device memory a join on the calling thread's GPU may use; `limit` is what it asks for, 0
// for most of what is free.
size_t device_memory_limit(size_t limit);
// Gives what joins of this process keep of a GPU's memory back, but for `kept` bytes.
void trim_device_memory(int number, size_t kept) noexcept;

// Returns whether a context may be destroyed: a library in this process that has loaded a CUDA runtime of its
// own would lose it.
bool may_reset_devices();
// Gives back what this process holds of its devices while nobody uses them: pools, the page-locked memory
// that is kept and, where may_reset_devices(), the contexts. Returns false where something page-locked is
// still in use, which needs them.
bool give_devices_back();

}  // namespace gpu
}  // namespace simjoin
