// Verification on the device of candidates that the CPU's prefix filter finds: the algorithm cpu_gpu.
#pragma once

#include <memory>

#include "core/candidates/pair_verifier.hpp"
#include "cuda/engine/gpu_engine.hpp"

namespace simjoin {

// Returns a verifier on the current GPU, which it touches from start() on. Failures of the device are Errors
// of kind device_failure, too little device memory is limit_exceeded.
std::unique_ptr<PairVerifier> make_gpu_verifier(const GpuOptions &options);

}  // namespace simjoin
