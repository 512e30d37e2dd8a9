// Code common to the kernels of the bitmap filter: items, bounds of tiles, and the output of pairs to global
// memory.
#pragma once

#include <cstdint>

#include "cuda/base/launch.cuh"
#include "cuda/filters/bitmap/bitmap_filter.hpp"
#include "cuda/filters/signature_bits.cuh"

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

// Probes with their partners, or groups of them, of one thread block on their way to global memory. Numbers
// are relative to the tables that are compared.
struct PairQueue {
  Candidate pairs[queue_pairs];
  uint32_t count;
  unsigned long long base;
};

// Appends pairs to the candidates: those of the lanes that take part.
__device__ inline void append(const CandidateView &out, Candidate pair) {
  const unsigned long long place = atomicAdd(&out.counters->candidates, 1ull);
  if (place < out.capacity) out.pairs[place] = pair;
}

// Returns the pair of a probe and a partner in numbers of their sides.
__device__ inline Candidate numbered(const BitmapJob &job, uint32_t r, uint32_t s) {
  return {job.probes.first + r, job.members.first + s};
}

// Returns whether a probe and a set or group of another table reach their bound. `excess` is that of the set.
__device__ inline bool reaches_bound(const BitmapJob &job, uint32_t r, const SignatureView &table, uint32_t s,
                                     uint32_t excess) {
  const uint32_t needed =
      job.least_overlap(job.probes.block_size[r / signature_block], table.block_size[s / signature_block]);
  return shared_bits(job.probes, r, table, s) + min(job.probes.excess[r], excess) >= needed;
}

// Appends the pairs of a probe and a part of a group that the join includes and whose own bits reach the
// bound.
__device__ inline void append_part(const BitmapJob &job, uint32_t r, uint32_t part) {
  if (part >= job.parts.sets ||
      !reaches_bound(job, r, job.parts, part, job.parts.block_excess[part / signature_block])) {
    return;
  }
  for (uint32_t s = part * job.part; s < min((part + 1) * job.part, job.members.sets); ++s) {
    const Candidate pair = numbered(job, r, s);
    if (job.self_join && (pair.probe >= pair.partner || pair.partner < job.partner_from)) continue;
    if (reaches_bound(job, r, job.members, s, job.members.excess[s])) append(job.candidates, pair);
  }
}

__device__ inline void push(PairQueue &queue, const BitmapJob &job, uint32_t r, uint32_t s) {
  const uint32_t position = atomicAdd(&queue.count, 1u);
  if (position < queue_pairs) {
    queue.pairs[position] = {r, s};
  } else if (job.group == 1) {
    append(job.candidates, numbered(job, r, s));
  } else {
    const uint32_t parts = job.group / job.part;
    for (uint32_t i = s * parts; i < (s + 1) * parts; ++i) append_part(job, r, i);
  }
}

// Notes groups that passed. If there are too many, the launch ends like one whose candidates do not fit.
__device__ inline void count_groups(const BitmapJob &job, uint32_t groups) {
  PairCounters &counters = *job.candidates.counters;
  const uint64_t before = atomicAdd(&counters.groups, static_cast<unsigned long long>(groups));
  if (before <= job.most_groups && before + groups > job.most_groups) {
    atomicAdd(&counters.candidates, static_cast<unsigned long long>(job.candidates.capacity) + 1);
  }
}

// Appends the pairs of the queue to the candidates, and empties it. All threads of the block must take part.
__device__ __noinline__ inline void flush(PairQueue &queue, const BitmapJob &job) {
  const CandidateView &out = job.candidates;
  __syncthreads();
  const uint32_t count = min(queue.count, queue_pairs);
  if (job.group == 1) {
    if (threadIdx.x == 0 && count > 0) {
      queue.base = atomicAdd(&out.counters->candidates, static_cast<unsigned long long>(count));
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
      const Candidate pair = queue.pairs[i];
      if (queue.base + i < out.capacity) out.pairs[queue.base + i] = numbered(job, pair.probe, pair.partner);
    }
  } else {
    if (threadIdx.x == 0) count_groups(job, queue.count);
    const uint32_t parts = job.group / job.part;
    for (uint32_t i = threadIdx.x; i < count * parts; i += blockDim.x) {
      const Candidate pair = queue.pairs[i / parts];
      append_part(job, pair.probe, pair.partner * parts + i % parts);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) queue.count = 0;
  __syncthreads();
}

// A barrier of the block that empties the queue if it is half full. Only one thread reads the count, because
// others may still be pushing. Returns false if the launch is to end.
__device__ inline bool meet(PairQueue &queue, const BitmapJob &job) {
  const bool full = threadIdx.x == 0 && atomicAdd(&queue.count, 0u) >= queue_pairs / 2;
  if (!__syncthreads_or(full)) return true;
  flush(queue, job);
  const CandidateView &out = job.candidates;
  return !__syncthreads_or(threadIdx.x == 0 && __ldcg(&out.counters->candidates) > out.capacity);
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

// Starts a copy of 16 bytes to shared memory.
__device__ inline void copy_16_bytes(const uint32_t *from, uint32_t *to) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(address), "l"(from));
}
// Starts a copy of words by all threads of the block.
template <int words>
__device__ void copy_words(const uint32_t *from, uint32_t *to) {
  for (int i = static_cast<int>(threadIdx.x) * 4; i < words; i += static_cast<int>(blockDim.x) * 4) {
    copy_16_bytes(from + i, to + i);
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
__device__ inline int bound_blocks(const LeastOverlap &least_overlap, const SignatureView &probes,
                                   uint32_t probe_block, const SignatureView &partners,
                                   uint32_t partner_block) {
  const uint32_t r = probes.block_size[probe_block], s = partners.block_size[partner_block];
  if (r == 0 || s == 0) return unreachable_bound;
  const auto excess =
      static_cast<int>(min(probes.block_excess[probe_block], partners.block_excess[partner_block]));
  return static_cast<int>(min(least_overlap(r, s), uint32_t{unreachable_bound})) - excess;
}
__device__ inline int bound_blocks(const BitmapJob &job, uint32_t probe_block, uint32_t partner_block) {
  return bound_blocks(job.least_overlap, job.probes, probe_block, job.partners, partner_block);
}
// The same, for blocks of partners that may be beyond the segment.
__device__ inline int bound_blocks(const BitmapJob &job, const Segment &segment, uint32_t probe_block,
                                   uint32_t partner_block) {
  return partner_block * signature_block < segment.partner_end ? bound_blocks(job, probe_block, partner_block)
                                                               : unreachable_bound;
}

// Writes the bounds of each block of a tile's probes (rows) with each block of a stage's partners.
template <int steps>
__device__ void bound_stage(const BitmapJob &job, const Segment &segment, uint32_t partner, int *bounds) {
  constexpr int blocks = stage_blocks<steps>;
  const int i = static_cast<int>(threadIdx.x);
  if (i >= blocks * probe_blocks) return;
  bounds[i] = bound_blocks(job, segment, segment.probe / signature_block + i / blocks,
                           partner / signature_block + i % blocks);
}

// Queues a probe and a partner, or a group of them, whose bits reach the bound, if the join includes it. `r`
// and `s` are relative to the tables.
__device__ inline void push_pair(const BitmapJob &job, const Segment &segment, PairQueue &queue, uint32_t r,
                                 uint32_t s) {
  if (r >= job.probes.sets || s >= segment.partner_end) return;
  const Candidate last = numbered(job, r, (s + 1) * job.group - 1);
  if (job.self_join && (last.probe >= last.partner || last.partner < job.partner_from)) return;
  push(queue, job, r, s);
}

#endif

}  // namespace simjoin::gpu
