// The bitmap filter on ordinary cores, for devices without fast binary tensor cores. It takes any width.
#include "cuda/filters/bitmap/bitmap_job.cuh"

namespace simjoin::gpu {
namespace {

constexpr int lane_probes = 2;  // a warp has signature_block probes
constexpr int group_sets = 8;   // partners compared at a time: those stored together
constexpr int block_groups = static_cast<int>(signature_block) / group_sets;

static_assert(lane_probes * warp_threads == signature_block && block_warps == probe_blocks);

// The words of one step of a set.
struct StepWords {
  uint32_t words[step_words];
};

__device__ StepWords load_step(const SignatureView &table, uint32_t set, uint32_t step) {
  const auto *row = reinterpret_cast<const uint4 *>(table.words + signature_row(set, table.steps, step));
  const uint32_t swapped = set >> 2 & 1;
  const uint4 low = __ldg(row + swapped), high = __ldg(row + (swapped ^ 1));
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

// Adds three words bit by bit, with one instruction each for sums and carries.
struct BitSums {
  __device__ BitSums(uint32_t a, uint32_t b, uint32_t c) {
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(ones) : "r"(a), "r"(b), "r"(c));
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(twos) : "r"(a), "r"(b), "r"(c));
  }
  uint32_t ones, twos;
};

// Returns how many bits two sets share in one step. It counts the bits of four words instead of eight,
// because popcount is the slow instruction here.
__device__ int count_shared(const StepWords &a, const StepWords &b) {
  uint32_t both[step_words];
#pragma unroll
  for (uint32_t i = 0; i < step_words; ++i) both[i] = a.words[i] & b.words[i];
  const BitSums x(both[0], both[1], both[2]), y(both[3], both[4], both[5]);
  const BitSums z(x.ones, y.ones, both[6]), carry(x.twos, y.twos, z.twos);
  return __popc(z.ones) + __popc(both[7]) + 2 * __popc(carry.ones) + 4 * __popc(carry.twos);
}

// Compares the warp's probes with eight partners.
__device__ void compare_group(const BitmapJob &job, const Segment &segment, PairQueue &queue, uint32_t probe,
                              uint32_t partner, int bound) {
  int sums[lane_probes][group_sets];
#pragma unroll
  for (int i = 0; i < lane_probes * group_sets; ++i) sums[i / group_sets][i % group_sets] = 0;
  for (uint32_t step = 0; step < job.probes.steps; ++step) {
    StepWords own[lane_probes];
#pragma unroll
    for (int i = 0; i < lane_probes; ++i) own[i] = load_step(job.probes, probe + i * warp_threads, step);
#pragma unroll
    for (int j = 0; j < group_sets; ++j) {
      const StepWords other = load_step(job.partners, partner + j, step);
#pragma unroll
      for (int i = 0; i < lane_probes; ++i) sums[i][j] += count_shared(own[i], other);
    }
  }
#pragma unroll
  for (int i = 0; i < lane_probes; ++i) {
#pragma unroll
    for (int j = 0; j < group_sets; ++j) {
      if (sums[i][j] >= bound) push_pair(job, segment, queue, probe + i * warp_threads, partner + j);
    }
  }
}

__global__ __launch_bounds__(block_threads) void filter_popcount(const __grid_constant__ BitmapJob job) {
  __shared__ PairQueue queue;
  __shared__ Segment next;
  if (threadIdx.x == 0) queue.count = 0;
  const uint32_t warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  for (Segment segment; next_segment(job, next, segment);) {
    const uint32_t probe = segment.probe + warp * signature_block;
    for (uint32_t partner = segment.partner; partner < segment.partner_end; partner += signature_block) {
      const int bound = bound_blocks(job, probe / signature_block, partner / signature_block);
      if (bound < unreachable_bound / 2) {
        for (int group = 0; group < block_groups; ++group) {
          compare_group(job, segment, queue, probe + lane, partner + group * group_sets, bound);
        }
      }
      if (!meet(queue, job)) break;
    }
  }
  flush(queue, job);
}

}  // namespace

void launch_popcount_filter(Device &device, const BitmapJob &job) {
  constexpr unsigned blocks_per_processor = 4;
  launch(device, filter_popcount,
         std::min<unsigned>(device.processors() * blocks_per_processor, job.end_item - job.begin_item), job);
}

}  // namespace simjoin::gpu
