// The device memory that this process holds: one pool per device, shared by all its joins.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace simjoin {

// Returns whether this process has set up a GPU, because a join used it.
bool gpu_started();
// Returns the same for one device, by its number in CUDA.
bool gpu_started(int device);
// Returns how many GPUs are set up.
int gpus_started();

namespace gpu {

// Returns the device's pool, and makes it if there is none.
cudaMemPool_t process_pool(int device);
// Returns how many bytes of device memory a join on the calling thread's GPU may use. `limit` is the join's
// own limit; 0 means most of the free memory.
size_t device_memory_limit(size_t limit);
// Returns how many bytes the pools of this process hold, in use or for later.
size_t device_memory_held();
// Gives back the memory of a GPU that this process keeps for later joins, except `kept` bytes.
void trim_device_memory(int number, size_t kept) noexcept;

// Returns whether contexts may be destroyed. They may not if another library in this process loaded its own
// CUDA runtime, which would lose its context, too.
bool may_reset_devices();
// Gives back everything that this process holds of its devices while they are idle: pools, cached
// page-locked memory and, if may_reset_devices(), the contexts. Returns false if page-locked memory is still
// in use, because unlocking it needs the contexts.
bool give_devices_back();

}  // namespace gpu
}  // namespace simjoin
