// Verification on the device of candidates from the CPU's prefix filter: the algorithm cpu_gpu.
#pragma once

#include <cstddef>
#include <memory>

#include "core/candidates/pair_verifier.hpp"

namespace simjoin {

// Returns a verifier on the current GPU, which it uses from start() on. `memory_limit` is in bytes; 0 means
// most of the free memory. A failure of the device is an Error of kind device_failure, too little device
// memory is limit_exceeded.
std::unique_ptr<PairVerifier> make_gpu_verifier(size_t memory_limit);

}  // namespace simjoin
