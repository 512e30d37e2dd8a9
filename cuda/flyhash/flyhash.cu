#include "cuda/base/launch.cuh"
#include "cuda/flyhash/flyhash.hpp"

namespace simjoin::gpu {
namespace {

constexpr int warp_rows = 64;  // rows of a warp's tile
constexpr int warp_vectors = 64;
constexpr int row_blocks = warp_rows / 16;  // the instruction takes 16 rows
constexpr int octets = warp_vectors / 8;
constexpr int tile_octets = fly_tile_vectors / 8;
constexpr int stage_steps = 2;
// Stages of fragments in shared memory: 48 KB, which every device has.
constexpr int stages = 3;
constexpr int stage_fragments = stage_steps * tile_octets * warp_threads;
constexpr int level_low_bits = 7;
constexpr uint32_t low_bit_of_bytes = 0x01010101;

static_assert(fly_tile_rows / warp_rows * (fly_tile_vectors / warp_vectors) == block_warps);
static_assert(sizeof(uint4) * stage_fragments * stages <= 48 * 1024);
static_assert(fly_level_bits == level_low_bits + 8, "two bytes a level");

// The place of a bit of the projection. The word belongs to the thread that needs it. The bit selects a byte
// of the thread's register and a register of a group of steps.
struct BitPlace {
  uint64_t word;
  uint32_t bit;
};

__device__ BitPlace place_of(const FlyLayout &layout, uint32_t row, uint32_t position) {
  const uint32_t group = position / 128, rest = position % 128;
  const uint32_t thread = row % 8 * 4 + rest % 16 / 4;
  const uint32_t bit = rest % 4 * 8 + rest / 16;
  return {(uint64_t{row / 8} * layout.groups + group) * warp_threads + thread, 1u << bit};
}

// One thread per row: a row has words of its own.
__global__ void draw_rows(FlyLayout layout, uint32_t *words) {
  SIMJOIN_GRID_STRIDE(row, layout.shape.hash_length) {
    draw_fly_row(layout.shape, static_cast<uint32_t>(row), [&](uint32_t position) {
      const BitPlace place = place_of(layout, static_cast<uint32_t>(row), position);
      const uint32_t word = words[place.word];
      words[place.word] = word | place.bit;
      return (word & place.bit) == 0;
    });
  }
}

// One thread per fragment: eight positions of a step, of one vector.
__global__ void arrange_levels(FlyLayout layout, const uint16_t *levels, uint32_t vectors, uint64_t count,
                               uint4 *fragments) {
  SIMJOIN_GRID_STRIDE(i, count) {
    const auto thread = static_cast<uint32_t>(i % warp_threads);
    const auto step = static_cast<uint32_t>(i / warp_threads % layout.steps);
    const uint64_t vector = i / warp_threads / layout.steps * 8 + thread / 4;
    uint32_t low[2] = {}, high[2] = {};
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t first = step * 32 + half * 16 + thread % 4 * 4;
      for (uint32_t byte = 0; byte < 4; ++byte) {
        if (vector >= vectors || first + byte >= layout.shape.dimension) continue;
        const uint32_t level = levels[vector * layout.shape.dimension + first + byte];
        low[half] |= (level & ((1u << level_low_bits) - 1)) << 8 * byte;
        high[half] |= level >> level_low_bits << 8 * byte;
      }
    }
    fragments[i] = {low[0], low[1], high[0], high[1]};
  }
}

__device__ void multiply_add(uint32_t (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Starts the copy of a stage of fragments to shared memory. `tile` is the first fragment of the tile.
__device__ void load_stage(const FlyLayout &layout, const uint4 *tile, uint32_t stage, uint4 *to) {
#pragma unroll
  for (int i = 0; i < stage_fragments / block_threads; ++i) {
    const uint32_t at = i * block_threads + threadIdx.x;
    const uint32_t thread = at % warp_threads, octet = at / warp_threads % tile_octets;
    const uint32_t step = stage * stage_steps + at / (warp_threads * tile_octets);
    const uint4 *from = tile + (uint64_t{octet} * layout.steps + step) * warp_threads + thread;
    const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to + at));
    asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(shared), "l"(from));
  }
}

// Adds the products of one step to the sums. `shift` is the position of the step in the words of its group.
__device__ void add_step(const uint32_t (&words)[2 * row_blocks], uint32_t shift, const uint4 *fragments,
                         uint32_t (&sums)[row_blocks][octets][4]) {
  uint4 b[octets];
#pragma unroll
  for (int octet = 0; octet < octets; ++octet) b[octet] = fragments[octet * warp_threads];
#pragma unroll
  for (int block = 0; block < row_blocks; ++block) {
    const uint32_t upper = words[2 * block] >> shift, lower = words[2 * block + 1] >> shift;
    const uint32_t low[4] = {upper & low_bit_of_bytes, lower & low_bit_of_bytes,
                             upper >> 1 & low_bit_of_bytes, lower >> 1 & low_bit_of_bytes};
    const uint32_t high[4] = {low[0] << level_low_bits, low[1] << level_low_bits, low[2] << level_low_bits,
                              low[3] << level_low_bits};
#pragma unroll
    for (int octet = 0; octet < octets; ++octet) {
      multiply_add(sums[block][octet], low, b[octet].x, b[octet].y);
    }
#pragma unroll
    for (int octet = 0; octet < octets; ++octet) {
      multiply_add(sums[block][octet], high, b[octet].z, b[octet].w);
    }
  }
}

// Writes the sums of a warp. `to` is the place of its first row and vector.
__device__ void write_sums(const uint32_t (&sums)[row_blocks][octets][4], uint32_t *to,
                           uint32_t vector_stride) {
  const uint32_t row = threadIdx.x % warp_threads / 4, vector = threadIdx.x % 4 * 2;
#pragma unroll
  for (uint32_t octet = 0; octet < octets; ++octet) {
    uint32_t *first = to + uint64_t{octet * 8 + vector} * vector_stride + row;
    uint32_t *second = first + vector_stride;
#pragma unroll
    for (uint32_t block = 0; block < row_blocks; ++block) {
      first[block * 16] = sums[block][octet][0];
      second[block * 16] = sums[block][octet][1];
      first[block * 16 + 8] = sums[block][octet][2];
      second[block * 16 + 8] = sums[block][octet][3];
    }
  }
}

// One block per tile. Consecutive blocks share their vectors.
__global__ void __launch_bounds__(block_threads, 1)
    activate_rows(FlyLayout layout, const uint32_t *words, const uint4 *fragments, uint32_t *activations) {
  __shared__ uint4 shared[stages][stage_fragments];
  const uint32_t row_tiles = layout.padded_rows / fly_tile_rows;
  const uint32_t vector_tile = blockIdx.x / row_tiles;
  const uint32_t warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  const uint32_t first_row = blockIdx.x % row_tiles * fly_tile_rows + warp / 2 * warp_rows;
  const uint32_t first_octet = warp % 2 * octets;
  const uint4 *tile = fragments + uint64_t{vector_tile} * tile_octets * layout.steps * warp_threads;
  const uint32_t *row_words = words + uint64_t{first_row / 8} * layout.groups * warp_threads + lane;
  const uint32_t all_stages = layout.steps / stage_steps;

  uint32_t sums[row_blocks][octets][4] = {};
  uint32_t current[2 * row_blocks], next[2 * row_blocks];
#pragma unroll
  for (int i = 0; i < 2 * row_blocks; ++i) next[i] = row_words[i * layout.groups * warp_threads];
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) {
    if (stage < all_stages) load_stage(layout, tile, stage, shared[stage]);
    asm volatile("cp.async.commit_group;");
  }
  uint32_t slot = 0;
  for (uint32_t stage = 0; stage < all_stages; ++stage) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2));
    __syncthreads();
    // The new stage replaces the previous one, which no warp reads any more.
    const uint32_t ahead = stage + stages - 1;
    if (ahead < all_stages) load_stage(layout, tile, ahead, shared[slot == 0 ? stages - 1 : slot - 1]);
    asm volatile("cp.async.commit_group;");
    if (stage % 2 == 0) {
      const uint32_t group = min(stage / 2 + 1, layout.groups - 1);
#pragma unroll
      for (int i = 0; i < 2 * row_blocks; ++i) {
        current[i] = next[i];
        next[i] = row_words[(i * layout.groups + group) * warp_threads];
      }
    }
#pragma unroll
    for (int step = 0; step < stage_steps; ++step) {
      const uint4 *from = shared[slot] + (step * tile_octets + first_octet) * warp_threads + lane;
      add_step(current, stage % 2 * 4 + step * 2, from, sums);
    }
    slot = slot == stages - 1 ? 0 : slot + 1;
  }
  const uint32_t first_vector = vector_tile * fly_tile_vectors + first_octet * 8;
  write_sums(sums, activations + uint64_t{first_vector} * layout.padded_rows + first_row, layout.padded_rows);
}

}  // namespace

void draw_fly_rows(const Device &device, const FlyLayout &layout, uint32_t *words) {
  launch(device, draw_rows, blocks_for(device, layout.shape.hash_length), layout, words);
}

void arrange_fly_levels(const Device &device, const FlyLayout &layout, const uint16_t *levels,
                        uint32_t vectors, uint32_t padded, uint4 *fragments) {
  const uint64_t count = layout.fragments(padded);
  launch(device, arrange_levels, blocks_for(device, count), layout, levels, vectors, count, fragments);
}

void activate_fly_rows(const Device &device, const FlyLayout &layout, const uint32_t *words,
                       const uint4 *fragments, uint32_t padded, uint32_t *activations) {
  const uint32_t tiles = layout.padded_rows / fly_tile_rows * (padded / fly_tile_vectors);
  launch(device, activate_rows, tiles, layout, words, fragments, activations);
}

}  // namespace simjoin::gpu
