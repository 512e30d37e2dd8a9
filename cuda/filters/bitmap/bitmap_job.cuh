// Code common to the kernels of the bitmap filter: items, bounds of tiles, and the output of pairs to global
// memory.
#pragma once

#include <cstdint>

#include "cuda/base/launch.cuh"
#include "cuda/filters/bitmap/bitmap_filter.hpp"

namespace simjoin::gpu {

inline constexpr int unreachable_bound = 1 << 28;  // no pair shares this many bits
inline constexpr uint32_t queue_pairs = 1024;
// Words of one buffer for partners' signatures in shared memory.
inline constexpr int stage_words = 4096;
static_assert(stage_words / step_words == least_segment, "segments are whole stages");

template <int steps>
inline constexpr int stage_partners = stage_words / (steps * static_cast<int>(step_words));
// Blocks of signature_block sets in a stage, and in a tile's probes.
template <int steps>
inline constexpr int stage_blocks = stage_partners<steps> / static_cast<int>(signature_block);
inline constexpr int probe_blocks = static_cast<int>(tile_probes / signature_block);

// The kernels behind launch_filter() that are compiled separately.
void launch_warpgroup_filter(Device &device, const BitmapJob &job);
void launch_popcount_filter(Device &device, const BitmapJob &job);

#ifdef __CUDACC__

// Pairs of one thread block on their way to global memory.
struct PairQueue {
  Candidate pairs[queue_pairs];
  uint32_t count;
  unsigned long long base;
};

__device__ inline void push(PairQueue &queue, const CandidateView &out, Candidate pair) {
  const uint32_t position = atomicAdd(&queue.count, 1u);
  if (position < queue_pairs) {
    queue.pairs[position] = pair;
    return;
  }
  const unsigned long long place = atomicAdd(&out.counters->candidates, 1ull);
  if (place < out.capacity) out.pairs[place] = pair;
}

// Moves the queue to global memory. All threads of the block must take part.
__device__ inline void flush(PairQueue &queue, const CandidateView &out) {
  __syncthreads();
  const uint32_t count = min(queue.count, queue_pairs);
  if (threadIdx.x == 0 && count > 0) {
    queue.base = atomicAdd(&out.counters->candidates, static_cast<unsigned long long>(count));
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    if (queue.base + i < out.capacity) out.pairs[queue.base + i] = queue.pairs[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) queue.count = 0;
  __syncthreads();
}

// A barrier of the block that moves the queue if it is half full. Only one thread reads the count, because
// others may still be pushing.
__device__ inline void meet(PairQueue &queue, const CandidateView &out) {
  const bool full = threadIdx.x == 0 && atomicAdd(&queue.count, 0u) >= queue_pairs / 2;
  if (__syncthreads_or(full)) flush(queue, out);
}

// The sets that one item compares.
struct Segment {
  uint32_t probe;
  uint32_t partner;
  uint32_t partner_end;
};

// Takes the next item for all threads of the block. Returns whether there is one. There is none after an
// overflow of the candidates, because the launch will be repeated.
__device__ inline bool next_segment(const BitmapJob &job, Segment &shared, Segment &segment) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned long long candidates = __ldcg(&job.candidates.counters->candidates);
    const uint32_t item = job.begin_item + atomicAdd(&job.candidates.counters->next_item, 1u);
    shared.partner_end = 0;
    if (item < job.end_item && candidates <= job.candidates.capacity) {
      uint32_t low = 0, high = job.tile_count - 1;
      while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (job.tiles[middle].first_item <= item) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      const ProbeTile tile = job.tiles[low];
      const uint32_t begin = tile.partner + (item - tile.first_item) * job.segment;
      shared = {tile.probe, begin, min(tile.partner_end, begin + job.segment)};
    }
  }
  __syncthreads();
  segment = shared;
  return segment.partner_end > 0;
}

// Starts a copy to shared memory. Each thread copies 16 bytes at a time.
template <int words>
__device__ void copy_words(const uint32_t *from, uint32_t *to) {
  for (int i = static_cast<int>(threadIdx.x) * 4; i < words; i += static_cast<int>(blockDim.x) * 4) {
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to + i));
    asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(address), "l"(from + i));
  }
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;");
}
// Waits until at most `commits` commits are under way.
template <int commits>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(commits) : "memory");
}

// Returns the fewest shared bits with which a pair of these blocks can qualify.
__device__ inline int bound_blocks(const BitmapJob &job, uint32_t probe_block, uint32_t partner_block) {
  const uint32_t r = job.probes.block_size[probe_block], s = job.partners.block_size[partner_block];
  if (r == 0 || s == 0) return unreachable_bound;
  const auto excess =
      static_cast<int>(min(job.probes.block_excess[probe_block], job.partners.block_excess[partner_block]));
  return static_cast<int>(min(job.least_overlap(r, s), uint32_t{unreachable_bound})) - excess;
}

// Writes the bounds of each block of a tile's probes (rows) with each block of a stage's partners.
template <int steps>
__device__ void bound_stage(const BitmapJob &job, const Segment &segment, uint32_t partner, int *bounds) {
  constexpr int blocks = stage_blocks<steps>;
  const int i = static_cast<int>(threadIdx.x);
  if (i >= blocks * probe_blocks) return;
  const uint32_t partner_block = partner / signature_block + i % blocks;
  bounds[i] = partner_block * signature_block < segment.partner_end
                  ? bound_blocks(job, segment.probe / signature_block + i / blocks, partner_block)
                  : unreachable_bound;
}

// Queues a pair whose bits reach the bound if the join includes it. `r` and `s` are relative to the tables.
__device__ inline void push_pair(const BitmapJob &job, const Segment &segment, PairQueue &queue, uint32_t r,
                                 uint32_t s) {
  if (r >= job.probes.sets || s >= segment.partner_end) return;
  const Candidate pair{job.probes.first + r, job.partners.first + s};
  if (job.self_join && (pair.probe >= pair.partner || pair.partner < job.partner_from)) return;
  push(queue, job.candidates, pair);
}

#endif

}  // namespace simjoin::gpu
