// Verification on the device of candidates that the CPU's prefix filter finds: the algorithm cpu_gpu.
#pragma once

#include <cstddef>
#include <memory>

#include "core/candidates/pair_verifier.hpp"

namespace simjoin {

// Returns a verifier on the current GPU, which it touches from start() on and uses so many bytes of; 0 = most
// of what is free. Failures of the device are Errors of kind device_failure, too little device memory is
// limit_exceeded.
std::unique_ptr<PairVerifier> make_gpu_verifier(size_t memory_limit);

}  // namespace simjoin
