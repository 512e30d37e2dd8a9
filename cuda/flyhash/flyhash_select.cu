#include "cuda/base/launch.cuh"
#include "cuda/flyhash/flyhash.hpp"

namespace simjoin::gpu {
namespace {

constexpr int digit_bits = 12;  // activations of up to 512 levels have two digits
constexpr uint32_t digits = 1u << digit_bits;
constexpr uint32_t thread_digits = digits / block_threads;
constexpr uint32_t chunk_rows = block_threads * 32;  // one word of bits per thread

// The bound of the winners of a vector: all rows above `activation`, and the first `ties` rows with this
// value.
struct Least {
  uint32_t activation;
  uint32_t ties;
};

// Returns the sum of `value` over the threads before this one. All threads of the block must take part.
__device__ uint32_t sum_before(uint32_t value, uint32_t &total) {
  __shared__ uint32_t warp_sums[block_warps];
  const uint32_t lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  uint32_t sum = value;
#pragma unroll
  for (uint32_t distance = 1; distance < warp_threads; distance *= 2) {
    const uint32_t other = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == warp_threads - 1) warp_sums[warp] = sum;
  __syncthreads();
  uint32_t before = 0;
  total = 0;
#pragma unroll
  for (uint32_t other = 0; other < block_warps; ++other) {
    if (other < warp) before += warp_sums[other];
    total += warp_sums[other];
  }
  __syncthreads();
  return before + sum - value;
}

// Counts digits of activations. A digit is the bits [to, from) of an activation whose bits from `from` on
// equal `prefix`.
__device__ void count_digits(const uint32_t *activations, uint32_t rows, uint32_t prefix, int from, int to,
                             uint32_t *counts) {
  for (uint32_t digit = threadIdx.x; digit < digits; digit += block_threads) counts[digit] = 0;
  __syncthreads();
  const uint32_t mask = (1u << (from - to)) - 1;
  const auto *quads = reinterpret_cast<const uint4 *>(activations);
#pragma unroll 4
  for (uint32_t quad = threadIdx.x; quad < (rows + 3) / 4; quad += block_threads) {
    const uint4 four = quads[quad];
    const uint32_t of_quad[] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      if (quad * 4 + i < rows && of_quad[i] >> from == prefix)
        atomicAdd(&counts[of_quad[i] >> to & mask], 1u);
    }
  }
  __syncthreads();
}

// Returns the largest digit that `wanted` or more activations reach or exceed. `wanted` becomes the number of
// winners that have this digit.
__device__ uint32_t find_digit(const uint32_t *counts, uint32_t &wanted) {
  __shared__ uint32_t found, left;
  const uint32_t first = (block_threads - 1 - threadIdx.x) * thread_digits;  // larger digits first
  uint32_t sum = 0, total;
#pragma unroll
  for (uint32_t i = 0; i < thread_digits; ++i) sum += counts[first + i];
  uint32_t larger = sum_before(sum, total);
  if (larger < wanted && wanted <= larger + sum) {
    uint32_t digit = first + thread_digits - 1;
    for (; larger + counts[digit] < wanted; --digit) larger += counts[digit];
    found = digit;
    left = wanted - larger;
  }
  __syncthreads();
  wanted = left;
  const uint32_t digit = found;
  __syncthreads();
  return digit;
}

__device__ Least find_least(const uint32_t *activations, uint32_t rows, uint32_t winners, int bits) {
  __shared__ uint32_t counts[digits];
  uint32_t prefix = 0, wanted = winners;
  for (int from = bits; from > 0;) {
    const int to = max(from - digit_bits, 0);
    count_digits(activations, rows, prefix, from, to, counts);
    prefix = prefix << (from - to) | find_digit(counts, wanted);
    from = to;
  }
  return {prefix, wanted};
}

// Writes the winners by ascending row. Each thread writes those among its 32 rows of a chunk.
__device__ void write_winners(const uint32_t *activations, uint32_t rows, Least least, uint32_t *winners) {
  const uint32_t lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  uint32_t larger_before = 0, ties_before = 0;
  for (uint32_t chunk = 0; chunk < rows; chunk += chunk_rows) {
    uint32_t larger = 0, ties = 0;
#pragma unroll 8
    for (uint32_t word = 0; word < 32; ++word) {
      const uint32_t row = chunk + (warp * 32 + word) * 32 + lane;
      const uint32_t activation = row < rows ? activations[row] : 0;
      const uint32_t word_larger = __ballot_sync(~0u, activation > least.activation);
      const uint32_t word_ties = __ballot_sync(~0u, row < rows && activation == least.activation);
      if (lane == word) {
        larger = word_larger;
        ties = word_ties;
      }
    }
    static_assert(chunk_rows < 1u << 16, "two counts in a word");
    uint32_t total;
    const uint32_t before = sum_before(__popc(larger) | __popc(ties) << 16, total);
    uint32_t tie = ties_before + (before >> 16);
    uint32_t to = larger_before + (before & 0xffff) + min(tie, least.ties);
    for (uint32_t both = larger | ties; both != 0; both &= both - 1) {
      const uint32_t bit = both & -both;
      if ((ties & bit) != 0 && tie++ >= least.ties) continue;
      winners[to++] = chunk + threadIdx.x * 32 + __ffs(bit) - 1;
    }
    larger_before += total & 0xffff;
    ties_before += total >> 16;
  }
}

// One block per vector.
__global__ void select_winners(FlyLayout layout, int bits, const uint32_t *activations, uint32_t *winners) {
  const uint32_t *of_vector = activations + uint64_t{blockIdx.x} * layout.padded_rows;
  const FlyShape &shape = layout.shape;
  const Least least = find_least(of_vector, shape.hash_length, shape.winners, bits);
  write_winners(of_vector, shape.hash_length, least, winners + uint64_t{blockIdx.x} * shape.winners);
}

}  // namespace

void select_fly_winners(const Device &device, const FlyLayout &layout, const uint32_t *activations,
                        uint32_t vectors, uint32_t *winners) {
  int bits = 0;
  while (uint64_t{layout.shape.projection} * fly_most_level >> bits != 0) ++bits;
  launch(device, select_winners, vectors, layout, bits, activations, winners);
}

}  // namespace simjoin::gpu
