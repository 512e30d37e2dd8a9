#include "cuda/filters/bitmap/bitmap_job.cuh"

namespace simjoin::gpu {
namespace {

constexpr int tile_rows = 16;  // of one tensor core instruction
constexpr int tile_columns = 8;
// Instructions that a warp issues for one group of columns: 64 probes per warp.
constexpr int warp_tiles = 4;
constexpr int warp_probes = warp_tiles * tile_rows;

static_assert(warp_probes == signature_block, "one constant for a warp's probes");
static_assert(block_warps == probe_blocks);

__device__ void compare(int (&sum)[4], const uint32_t (&a)[4], uint2 b, const int (&start)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
      : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "r"(start[0]), "r"(start[1]),
        "r"(start[2]), "r"(start[3]));
}

// Returns the place of this lane's two words in one step of eight sets: words 2t and 2t + 1 of set lane / 4,
// with t = lane % 4. They are words t and t + 4 of the instruction's layout, for probes and partners
// alike.
__device__ uint32_t lane_words() {
  const uint32_t lane = threadIdx.x % warp_threads;
  return lane ^ ((lane & 16) >> 3);
}

// Appends the pairs of non-negative sums. `probe` and `partner` are the first pair of this lane, relative to
// the tables.
__device__ __noinline__ void push_pairs(const BitmapJob &job, const Segment &segment, PairQueue &queue,
                                        unsigned survivors, uint32_t probe, uint32_t partner) {
  while (survivors != 0) {
    const int bit = __ffs(survivors) - 1;
    survivors &= survivors - 1;
    // Bit: group of columns (1), tile (2), row half (1), column (1).
    const uint32_t r = probe + (bit >> 2 & 3) * tile_rows + (bit >> 1 & 1) * 8;
    const uint32_t s = partner + (bit >> 4) * tile_columns + (bit & 1);
    push_pair(job, segment, queue, r, s);
  }
}

// Compares the warp's probes with one stage of partners.
template <int steps>
__device__ void compare_stage(const BitmapJob &job, const Segment &segment, PairQueue &queue,
                              const uint32_t (&a)[warp_tiles][steps][4], const uint32_t *stage,
                              const int *bounds, uint32_t probe, uint32_t partner) {
  constexpr int blocks = stage_blocks<steps>;
  constexpr int groups = static_cast<int>(signature_block) / tile_columns;
  const uint32_t lane = threadIdx.x % warp_threads;
  const auto *words = reinterpret_cast<const uint2 *>(stage) + lane_words();
  for (int block = 0; block < blocks; ++block) {
    const int start = -bounds[block];
    const int from[4] = {start, start, start, start};
#pragma unroll 2
    for (int group = 0; group < groups; group += 2) {
      int sums[2][warp_tiles][4];
#pragma unroll
      for (int g = 0; g < 2; ++g) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
          const uint2 b = words[((block * groups + group + g) * steps + step) * warp_threads];
#pragma unroll
          for (int m = 0; m < warp_tiles; ++m) {
            if (step == 0) {
              compare(sums[g][m], a[m][step], b, from);
            } else {
              compare(sums[g][m], a[m][step], b, sums[g][m]);
            }
          }
        }
      }
      int all = -1;
#pragma unroll
      for (int i = 0; i < 2 * warp_tiles * 4; ++i)
        all &= sums[i / (warp_tiles * 4)][i / 4 % warp_tiles][i % 4];
      if (all >= 0) {
        unsigned survivors = 0;
#pragma unroll
        for (int i = 0; i < 2 * warp_tiles * 4; ++i) {
          survivors |= (~static_cast<unsigned>(sums[i / (warp_tiles * 4)][i / 4 % warp_tiles][i % 4]) >> 31)
                       << i;
        }
        const uint32_t column = partner + (block * groups + group) * tile_columns + lane % 4 * 2;
        push_pairs(job, segment, queue, survivors, probe + lane / 4, column);
      }
    }
  }
}

// Loads the warp's probes as the first operand of the instruction, which needs its four words in adjacent
// registers. The compiler cannot see that `zero` is 0, so it puts the words there once instead of before
// every use.
template <int steps>
__device__ void load_probes(const BitmapJob &job, uint32_t probe, uint32_t (&a)[warp_tiles][steps][4]) {
  const uint32_t zero = job.segment >> 31;
  const auto *words = reinterpret_cast<const uint2 *>(job.probes.words) + lane_words();
#pragma unroll
  for (int m = 0; m < warp_tiles; ++m) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const uint64_t group = (probe + m * tile_rows) / 8;
      const uint2 upper = words[(group * steps + step) * warp_threads];
      const uint2 lower = words[((group + 1) * steps + step) * warp_threads];
      a[m][step][0] = upper.x ^ zero;
      a[m][step][1] = lower.x ^ zero;
      a[m][step][2] = upper.y ^ zero;
      a[m][step][3] = lower.y ^ zero;
    }
  }
}

template <int steps>
__device__ void load_stage(const BitmapJob &job, uint32_t partner, uint32_t *stage) {
  copy_words<stage_words>(job.partners.words + uint64_t{partner} * steps * step_words, stage);
  commit_copies();
}

template <int steps>
__global__ __launch_bounds__(block_threads, 2) void filter(const __grid_constant__ BitmapJob job) {
  __shared__ __align__(16) uint32_t stages[2][stage_words];
  __shared__ int bounds[2][stage_blocks<steps> * probe_blocks];
  __shared__ PairQueue queue;
  __shared__ Segment next;
  const int warp = threadIdx.x / warp_threads;
  if (threadIdx.x == 0) queue.count = 0;
  for (Segment segment; next_segment(job, next, segment);) {
    load_stage<steps>(job, segment.partner, stages[0]);
    bound_stage<steps>(job, segment, segment.partner, bounds[0]);
    const uint32_t probe = segment.probe + warp * warp_probes;
    uint32_t a[warp_tiles][steps][4];
    load_probes<steps>(job, probe, a);
    int current = 0;
    for (uint32_t partner = segment.partner; partner < segment.partner_end;
         partner += stage_partners<steps>) {
      const uint32_t following = partner + stage_partners<steps>;
      if (following < segment.partner_end) {
        load_stage<steps>(job, following, stages[current ^ 1]);
        bound_stage<steps>(job, segment, following, bounds[current ^ 1]);
        wait_for_copies<1>();
      } else {
        wait_for_copies<0>();
      }
      __syncthreads();
      compare_stage<steps>(job, segment, queue, a, stages[current],
                           bounds[current] + warp * stage_blocks<steps>, probe, partner);
      if (!meet(queue, job)) break;
      current ^= 1;
    }
  }
  flush(queue, job);
}

// For signatures too wide to stay in registers. A warp compares its probes with one block of partners at a
// time, step by step. Long sets are few, so this kernel reads through the cache instead of staging like
// filter().
constexpr int wide_groups = static_cast<int>(signature_block) / tile_columns;

__device__ void compare_wide(const BitmapJob &job, uint32_t probe, uint32_t partner,
                             int (&sums)[wide_groups][warp_tiles][4]) {
  const uint32_t steps = job.probes.steps;
  const auto *rows = reinterpret_cast<const uint2 *>(job.probes.words) + lane_words();
  const auto *columns = reinterpret_cast<const uint2 *>(job.partners.words) + lane_words();
  for (uint32_t step = 0; step < steps; ++step) {
    uint32_t a[warp_tiles][4];
#pragma unroll
    for (int m = 0; m < warp_tiles; ++m) {
      const uint64_t group = (probe + m * tile_rows) / 8;
      const uint2 upper = rows[(group * steps + step) * warp_threads];
      const uint2 lower = rows[((group + 1) * steps + step) * warp_threads];
      a[m][0] = upper.x;
      a[m][1] = lower.x;
      a[m][2] = upper.y;
      a[m][3] = lower.y;
    }
#pragma unroll
    for (int g = 0; g < wide_groups; ++g) {
      const uint2 b = columns[((uint64_t{partner} / 8 + g) * steps + step) * warp_threads];
#pragma unroll
      for (int m = 0; m < warp_tiles; ++m) compare(sums[g][m], a[m], b, sums[g][m]);
    }
  }
}

__device__ void push_wide(const BitmapJob &job, const Segment &segment, PairQueue &queue, uint32_t probe,
                          uint32_t partner, const int (&sums)[wide_groups][warp_tiles][4]) {
  const uint32_t lane = threadIdx.x % warp_threads;
#pragma unroll
  for (int g = 0; g < wide_groups; g += 2) {
    unsigned survivors = 0;
#pragma unroll
    for (int i = 0; i < 2 * warp_tiles * 4; ++i) {
      survivors |= (~static_cast<unsigned>(sums[g + i / (warp_tiles * 4)][i / 4 % warp_tiles][i % 4]) >> 31)
                   << i;
    }
    if (survivors != 0) {
      push_pairs(job, segment, queue, survivors, probe + lane / 4, partner + g * tile_columns + lane % 4 * 2);
    }
  }
}

__global__ __launch_bounds__(block_threads, 1) void filter_wide(const __grid_constant__ BitmapJob job) {
  __shared__ PairQueue queue;
  __shared__ Segment next;
  if (threadIdx.x == 0) queue.count = 0;
  for (Segment segment; next_segment(job, next, segment);) {
    const uint32_t probe = segment.probe + threadIdx.x / warp_threads * warp_probes;
    for (uint32_t partner = segment.partner; partner < segment.partner_end; partner += signature_block) {
      const int bound = bound_blocks(job, probe / signature_block, partner / signature_block);
      if (bound < unreachable_bound / 2) {
        int sums[wide_groups][warp_tiles][4];
#pragma unroll
        for (int i = 0; i < wide_groups * warp_tiles * 4; ++i) {
          sums[i / (warp_tiles * 4)][i / 4 % warp_tiles][i % 4] = -bound;
        }
        compare_wide(job, probe, partner, sums);
        push_wide(job, segment, queue, probe, partner, sums);
      }
      if (!meet(queue, job)) break;
    }
  }
  flush(queue, job);
}

template <int steps>
void launch_width(Device &device, const BitmapJob &job) {
  launch(device, filter<steps>, std::min<unsigned>(device.processors() * 2, job.end_item - job.begin_item),
         job);
}

void launch_warp_filter(Device &device, const BitmapJob &job) {
  switch (job.probes.steps) {
    case 1:
      return launch_width<1>(device, job);
    case 2:
      return launch_width<2>(device, job);
    case 4:
      return launch_width<4>(device, job);
    default:
      launch(device, filter_wide, std::min<unsigned>(device.processors(), job.end_item - job.begin_item),
             job);
  }
}

}  // namespace

TilePlan plan_tiles(const Bounds &bounds, const DeviceSide &probes, const DeviceSide &partners,
                    bool self_join, const PlanRange &range, uint32_t steps, uint32_t group, int processors,
                    uint64_t most_pairs) {
  constexpr uint32_t largest_segment = 8192;
  // Enough items that few multiprocessors are idle at the end.
  constexpr uint32_t items_per_processor = 24;
  TilePlan plan;
  plan.group = group;
  const int64_t largest = partners.classes.size() < 2 ? 0 : partners.classes.end()[-2].size;
  auto probe_class = probes.classes.begin();
  const auto size_of = [&](uint32_t set) {
    while ((probe_class + 1)->begin <= set) ++probe_class;
    return std::max(1u, probe_class->size);
  };
  uint64_t columns = 0;
  for (uint64_t begin = range.begin; begin < range.end; begin += tile_probes) {
    const uint32_t r = size_of(static_cast<uint32_t>(begin));
    const uint32_t last =
        size_of(static_cast<uint32_t>(std::min<uint64_t>(begin + tile_probes, range.end) - 1));
    uint32_t first = partners.lower_bound(static_cast<uint64_t>(std::max<int64_t>(1, bounds.min_partner(r))));
    if (self_join) first = static_cast<uint32_t>(begin);
    first = std::max({first, range.partner_begin, range.partner_from});
    uint32_t end = partners.lower_bound(static_cast<uint64_t>(bounds.max_partner(last, largest)) + 1);
    end = std::min(end, range.partner_end);
    if (first >= end) continue;
    const uint32_t first_group = (first - range.partner_begin) / (signature_block * group) * signature_block;
    const uint32_t end_group = (end - range.partner_begin + group - 1) / group;
    plan.tiles.push_back({static_cast<uint32_t>(begin - range.begin), first_group, end_group, 0});
    columns += end_group - first_group;
  }
  if (!plan.tiles.empty() && range.compared > 0) {
    ProbeTile &tile = plan.tiles.front();
    tile.partner = std::min(std::max(tile.partner, range.compared / group), tile.partner_end);
  }
  const uint64_t share = columns / (static_cast<uint64_t>(processors) * items_per_processor);
  plan.segment = largest_segment;
  const uint32_t least = steps > widest_tile_steps ? least_wide_segment : least_segment;
  const uint64_t limit = std::min(std::max<uint64_t>(share, least), most_pairs / tile_probes / group);
  while (plan.segment > least && plan.segment > limit) plan.segment /= 2;
  uint64_t items = 0;
  for (ProbeTile &tile : plan.tiles) {
    tile.first_item = static_cast<uint32_t>(items);
    items += (uint64_t{tile.partner_end} - tile.partner + plan.segment - 1) / plan.segment;
  }
  // Blocks that find no item left have incremented the counter beyond it.
  if (items > UINT32_MAX / 2) {
    throw Error(ErrorKind::limit_exceeded,
                "the join has too many sets of compatible sizes for one GPU at once");
  }
  plan.items = static_cast<uint32_t>(items);
  plan.pairs = static_cast<double>(columns) * tile_probes * group;
  return plan;
}

BitmapKernel kernel_for(const Device &device, BitmapKernel wanted) {
  const bool warpgroups = device.capability() == 90;
  // From compute capability 10 on, binary operands of tensor cores are emulated or removed.
  const bool emulated = device.capability() >= 100;
  if (wanted == BitmapKernel::fastest) {
    return emulated ? BitmapKernel::popcount : warpgroups ? BitmapKernel::warpgroup : BitmapKernel::warp;
  }
  return wanted == BitmapKernel::warpgroup && !warpgroups ? BitmapKernel::warp : wanted;
}

void launch_filter(Device &device, BitmapKernel kernel, const BitmapJob &job) {
  if (job.begin_item >= job.end_item) return;
  if (kernel == BitmapKernel::popcount) {
    launch_popcount_filter(device, job);
  } else if (kernel == BitmapKernel::warpgroup) {
    launch_warpgroup_filter(device, job);
  } else {
    launch_warp_filter(device, job);
  }
}

}  // namespace simjoin::gpu
