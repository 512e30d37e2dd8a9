// Comparison of two signatures bit by bit.
#pragma once

#include "cuda/filters/signatures.hpp"

namespace simjoin::gpu {

// Returns how many bits the signatures of two sets share in every `distance`-th step from `first` on. `r` and
// `s` are relative to their tables.
__device__ inline uint32_t shared_bits(const SignatureView &left, uint32_t r, const SignatureView &right,
                                       uint32_t s, uint32_t first = 0, uint32_t distance = 1) {
  const uint32_t steps = left.steps, swapped = (r ^ s) >> 2 & 1;
  uint32_t shared = 0;
  // Unrolled so that loads are under way together.
#pragma unroll 4
  for (uint32_t step = first; step < steps; step += distance) {
    const auto *a = reinterpret_cast<const uint4 *>(left.words + signature_row(r, steps, step));
    const auto *b = reinterpret_cast<const uint4 *>(right.words + signature_row(s, steps, step));
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint4 x = a[half], y = b[half ^ swapped];
      shared += __popc(x.x & y.x) + __popc(x.y & y.y) + __popc(x.z & y.z) + __popc(x.w & y.w);
    }
  }
  return shared;
}

// Returns how many bits the signatures of two sets share, to all threads of the block.
__device__ inline uint32_t shared_bits_by_block(const SignatureView &left, uint32_t r,
                                                const SignatureView &right, uint32_t s) {
  __shared__ uint32_t sum;
  __syncthreads();  // others may still read the sum of the pair before
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const uint32_t part = __reduce_add_sync(~0u, shared_bits(left, r, right, s, threadIdx.x, blockDim.x));
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, part);
  __syncthreads();
  return sum;
}

}  // namespace simjoin::gpu
