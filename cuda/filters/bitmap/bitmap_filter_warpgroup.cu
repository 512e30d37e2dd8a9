// The bitmap filter with warpgroup instructions, which only compute capability 9.0 has. Both operands are in
// shared memory, in the layout of the tables. Compiled for sm_90a.
#include "cuda/filters/bitmap/bitmap_job.cuh"

namespace simjoin::gpu {
namespace {

// One instruction compares 64 probes with 128 partners, and a thread gets 64 of the counts.
constexpr int instruction_probes = 64;
constexpr int instruction_partners = 128;
constexpr int thread_sums = instruction_probes * instruction_partners / 128;
constexpr int half_sums = thread_sums / 2;  // counts of the first 64 partners
constexpr int warpgroup_warps = 4;
constexpr int warpgroups = block_warps / warpgroup_warps;
// Instructions of a warpgroup for the same partners.
constexpr int group_tiles = probe_blocks / warpgroups;
constexpr unsigned blocks_per_processor = 2;

static_assert(instruction_probes == signature_block && instruction_partners == 2 * signature_block);

// Buffers for stages of partners: as many as still let two blocks share a multiprocessor.
template <int steps>
constexpr int buffers = steps < 4 ? 3 : 2;

template <int steps>
struct Shared {
  uint32_t probes[tile_probes * steps * step_words];
  uint32_t stages[buffers<steps>][stage_words];
  int bounds[buffers<steps>][stage_blocks<steps> * probe_blocks];
  PairQueue queue;
  Segment next;
};

// Describes a matrix of 256-bit rows in shared memory. Eight rows are adjacent and swizzled by 16 bytes. The
// next eight begin `stride` bytes later.
__device__ uint64_t describe(const uint32_t *rows, int stride) {
  constexpr uint64_t swizzle_32_bytes = 3;
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(rows));
  return (address & 0x3FFFF) >> 4 | uint64_t{1} << 16 | static_cast<uint64_t>(stride >> 4) << 32 |
         swizzle_32_bytes << 62;
}

// Starts to count the bits that probes and partners share. The counts are added to `sums` if `add` is not 0.
__device__ void start_compare(int (&sums)[thread_sums], uint64_t probes, uint64_t partners, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %66, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
      "%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,"
      "%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
      "}, %64, %65, p;}"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3]), "+r"(sums[4]), "+r"(sums[5]),
        "+r"(sums[6]), "+r"(sums[7]), "+r"(sums[8]), "+r"(sums[9]), "+r"(sums[10]), "+r"(sums[11]),
        "+r"(sums[12]), "+r"(sums[13]), "+r"(sums[14]), "+r"(sums[15]), "+r"(sums[16]), "+r"(sums[17]),
        "+r"(sums[18]), "+r"(sums[19]), "+r"(sums[20]), "+r"(sums[21]), "+r"(sums[22]), "+r"(sums[23]),
        "+r"(sums[24]), "+r"(sums[25]), "+r"(sums[26]), "+r"(sums[27]), "+r"(sums[28]), "+r"(sums[29]),
        "+r"(sums[30]), "+r"(sums[31]), "+r"(sums[32]), "+r"(sums[33]), "+r"(sums[34]), "+r"(sums[35]),
        "+r"(sums[36]), "+r"(sums[37]), "+r"(sums[38]), "+r"(sums[39]), "+r"(sums[40]), "+r"(sums[41]),
        "+r"(sums[42]), "+r"(sums[43]), "+r"(sums[44]), "+r"(sums[45]), "+r"(sums[46]), "+r"(sums[47]),
        "+r"(sums[48]), "+r"(sums[49]), "+r"(sums[50]), "+r"(sums[51]), "+r"(sums[52]), "+r"(sums[53]),
        "+r"(sums[54]), "+r"(sums[55]), "+r"(sums[56]), "+r"(sums[57]), "+r"(sums[58]), "+r"(sums[59]),
        "+r"(sums[60]), "+r"(sums[61]), "+r"(sums[62]), "+r"(sums[63])
      : "l"(probes), "l"(partners), "r"(add));
}

// Counts the bits that `tiles` tiles of probes share with partners. The counts are added to `sums` if `add`
// is set. `probes` and `partners` point at their first rows in shared memory.
template <int steps, int tiles>
__device__ void compare(int (&sums)[tiles][thread_sums], const uint32_t *probes, const uint32_t *partners,
                        bool add = false) {
  constexpr int row_bytes = static_cast<int>(step_words * sizeof(uint32_t));
  constexpr int tile_words = instruction_probes * steps * static_cast<int>(step_words);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int m = 0; m < tiles; ++m) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      start_compare(sums[m], describe(probes + m * tile_words + step * 8 * step_words, steps * 8 * row_bytes),
                    describe(partners + step * 8 * step_words, steps * 8 * row_bytes), add || step > 0);
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  // Keeps the compiler from reading the sums before the wait.
#pragma unroll
  for (int i = 0; i < tiles * thread_sums; ++i) {
    asm volatile("" : "+r"(sums[i / thread_sums][i % thread_sums])::"memory");
  }
}

// Returns the largest of 32 sums from `first` on, with 16 instructions.
__device__ int largest_sum(const int (&sums)[thread_sums], int first) {
  int even = sums[first], odd = sums[first + 15];
#pragma unroll
  for (int i = 1; i < 15; i += 2) {
    even = __vimax3_s32(even, sums[first + i], sums[first + i + 1]);
    odd = __vimax3_s32(odd, sums[first + i + 15], sums[first + i + 16]);
  }
  even = __vimax3_s32(even, sums[first + 30], sums[first + 31]);
  return max(even, odd);
}

// Queues the pairs of a thread's sums. Bit i stands for row 8 * (i / 2 % 2) and column 8 * (i / 4) + i % 2,
// counted from `probe` and `partner`.
__device__ __noinline__ void push_pairs(const BitmapJob &job, const Segment &segment, PairQueue &queue,
                                        unsigned survivors, uint32_t probe, uint32_t partner) {
  while (survivors != 0) {
    const int bit = __ffs(survivors) - 1;
    survivors &= survivors - 1;
    push_pair(job, segment, queue, probe + (bit >> 1 & 1) * 8, partner + (bit >> 2) * 8 + (bit & 1));
  }
}

// Queues the pairs of 64 probes and 128 partners whose sums reach the bounds of the partners' two blocks.
__device__ void push_tile(const BitmapJob &job, const Segment &segment, PairQueue &queue,
                          const int (&sums)[thread_sums], const int *bounds, uint32_t probe,
                          uint32_t partner) {
  const int over[2] = {largest_sum(sums, 0) - bounds[0], largest_sum(sums, half_sums) - bounds[1]};
  if (max(over[0], over[1]) >= 0) {
    const uint32_t warp = threadIdx.x / warp_threads % warpgroup_warps, lane = threadIdx.x % warp_threads;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (over[half] < 0) continue;
      unsigned survivors = 0;
#pragma unroll
      for (int i = 0; i < half_sums; ++i) {
        survivors |= static_cast<unsigned>(sums[half * half_sums + i] >= bounds[half]) << i;
      }
      push_pairs(job, segment, queue, survivors, probe + warp * 16 + lane / 4,
                 partner + half * signature_block + lane % 4 * 2);
    }
  }
  __syncwarp();
}

// Compares the tile's probes with a stage of partners, which begins at `partner`.
template <int steps>
__device__ void compare_stage(const BitmapJob &job, const Segment &segment, Shared<steps> &shared, int buffer,
                              uint32_t partner, int (&sums)[1][thread_sums]) {
  const int group = static_cast<int>(threadIdx.x) / (warpgroup_warps * warp_threads);
  for (int column = 0; column < stage_partners<steps>; column += instruction_partners) {
    const uint32_t *partners = shared.stages[buffer] + column * steps * step_words;
#pragma unroll 1
    for (int m = 0; m < group_tiles; ++m) {
      const int tile = group * group_tiles + m;
      const int *bounds = shared.bounds[buffer] + tile * stage_blocks<steps> + column / signature_block;
      compare<steps>(sums, shared.probes + tile * instruction_probes * steps * step_words, partners);
      push_tile(job, segment, shared.queue, sums[0], bounds, segment.probe + tile * instruction_probes,
                partner + column);
    }
  }
}

template <int steps>
__device__ void load_stage(const BitmapJob &job, const Segment &segment, uint32_t partner,
                           Shared<steps> &shared, int buffer) {
  if (partner < segment.partner_end) {
    copy_words<stage_words>(job.partners.words + uint64_t{partner} * steps * step_words,
                            shared.stages[buffer]);
    bound_stage<steps>(job, segment, partner, shared.bounds[buffer]);
  }
  commit_copies();
}

// Copies stages of partners while earlier ones are compared.
template <int steps>
__global__ __launch_bounds__(block_threads, blocks_per_processor) void filter_warpgroup(
    const __grid_constant__ BitmapJob job) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared<steps> &shared = *reinterpret_cast<Shared<steps> *>(memory);
  constexpr int ahead = buffers<steps> - 1;
  // Declared here, so that they have a value before the first instruction.
  int sums[1][thread_sums] = {};
  if (threadIdx.x == 0) shared.queue.count = 0;
  for (Segment segment; next_segment(job, shared.next, segment);) {
    copy_words<tile_probes * steps * step_words>(
        job.probes.words + uint64_t{segment.probe} * steps * step_words, shared.probes);
    for (int i = 0; i < ahead; ++i) {
      load_stage<steps>(job, segment, segment.partner + i * stage_partners<steps>, shared, i);
    }
    int buffer = 0;
    for (uint32_t partner = segment.partner; partner < segment.partner_end;
         partner += stage_partners<steps>) {
      wait_for_copies<ahead - 1>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      if (!meet(shared.queue, job)) break;
      load_stage<steps>(job, segment, partner + ahead * stage_partners<steps>, shared,
                        (buffer + ahead) % buffers<steps>);
      compare_stage<steps>(job, segment, shared, buffer, partner, sums);
      buffer = (buffer + 1) % buffers<steps>;
    }
  }
  wait_for_copies<0>();
  flush(shared.queue, job);
}

// For wider signatures. A block compares 256 probes with 128 partners at a time, some steps of both at a
// time.
constexpr int wide_steps = 4;
constexpr int wide_tiles = 2;  // of 64 probes, for each warpgroup
constexpr int wide_probes = warpgroups * wide_tiles * instruction_probes;
constexpr int wide_buffers = 4;
constexpr int set_words = wide_steps * static_cast<int>(step_words);  // of a set in a buffer

static_assert(tile_probes % wide_probes == 0 && least_wide_segment % instruction_partners == 0);

struct WideShared {
  uint32_t probes[wide_buffers][wide_probes * set_words];
  uint32_t partners[wide_buffers][instruction_partners * set_words];
  PairQueue queue;
  Segment next;
};

// The next steps of an item to be copied or compared.
struct WideStage {
  uint32_t probe, partner, step = 0;

  __device__ explicit WideStage(const Segment &segment) : probe(segment.probe), partner(segment.partner) {}
  // Returns whether these are the last steps of their sets.
  __device__ bool last(const BitmapJob &job) const { return step + wide_steps == job.probes.steps; }
  __device__ void advance(const BitmapJob &job, const Segment &segment) {
    step += wide_steps;
    if (step < job.probes.steps) return;
    step = 0;
    probe += wide_probes;
    if (probe < segment.probe + tile_probes) return;
    probe = segment.probe;
    partner += instruction_partners;
  }
};

// Copies the steps from `step` on of `sets` sets. Those of eight sets are adjacent.
template <int sets>
__device__ void copy_steps(const SignatureView &table, uint32_t first, uint32_t step, uint32_t *to) {
  constexpr int words = 8 * set_words;
  for (int i = static_cast<int>(threadIdx.x) * 4; i < sets * set_words; i += block_threads * 4) {
    copy_16_bytes(table.words + signature_row(first + i / words * 8, table.steps, step) + i % words, to + i);
  }
}

__device__ void load_wide(const BitmapJob &job, const Segment &segment, WideStage &stage, WideShared &shared,
                          int buffer) {
  if (stage.partner < segment.partner_end) {
    copy_steps<wide_probes>(job.probes, stage.probe, stage.step, shared.probes[buffer]);
    copy_steps<instruction_partners>(job.partners, stage.partner, stage.step, shared.partners[buffer]);
    stage.advance(job, segment);
  }
  commit_copies();
}

// Queues the pairs of the warpgroup's probes with the partners of a stage.
__device__ void push_wide(const BitmapJob &job, const Segment &segment, PairQueue &queue,
                          const int (&sums)[wide_tiles][thread_sums], const WideStage &stage) {
  const uint32_t warpgroup = threadIdx.x / (warpgroup_warps * warp_threads);
#pragma unroll
  for (int m = 0; m < wide_tiles; ++m) {
    const uint32_t probe = stage.probe + (warpgroup * wide_tiles + m) * instruction_probes;
    int bounds[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      bounds[half] =
          bound_blocks(job, segment, probe / signature_block, stage.partner / signature_block + half);
    }
    push_tile(job, segment, queue, sums[m], bounds, probe, stage.partner);
  }
}

__global__ __launch_bounds__(block_threads,
                             1) void filter_wide_warpgroup(const __grid_constant__ BitmapJob job) {
  extern __shared__ __align__(1024) unsigned char memory[];
  WideShared &shared = *reinterpret_cast<WideShared *>(memory);
  constexpr int ahead = wide_buffers - 1;
  const int warpgroup = static_cast<int>(threadIdx.x) / (warpgroup_warps * warp_threads);
  int sums[wide_tiles][thread_sums] = {};
  if (threadIdx.x == 0) shared.queue.count = 0;
  for (Segment segment; next_segment(job, shared.next, segment);) {
    WideStage loaded(segment), compared(segment);
    for (int i = 0; i < ahead; ++i) load_wide(job, segment, loaded, shared, i);
    for (int buffer = 0; compared.partner < segment.partner_end; buffer = (buffer + 1) % wide_buffers) {
      wait_for_copies<ahead - 1>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      if (!meet(shared.queue, job)) break;
      load_wide(job, segment, loaded, shared, (buffer + ahead) % wide_buffers);
      compare<wide_steps>(sums,
                          shared.probes[buffer] + warpgroup * wide_tiles * instruction_probes * set_words,
                          shared.partners[buffer], compared.step > 0);
      if (compared.last(job)) push_wide(job, segment, shared.queue, sums, compared);
      compared.advance(job, segment);
    }
  }
  wait_for_copies<0>();
  flush(shared.queue, job);
}

template <int steps>
void launch_steps(Device &device, const BitmapJob &job) {
  const unsigned blocks =
      std::min<unsigned>(device.processors() * blocks_per_processor, job.end_item - job.begin_item);
  launch(device, filter_warpgroup<steps>, LaunchShape(blocks, block_threads, sizeof(Shared<steps>)), job);
}

}  // namespace

void launch_warpgroup_filter(Device &device, const BitmapJob &job) {
  switch (job.probes.steps) {
    case 1:
      return launch_steps<1>(device, job);
    case 2:
      return launch_steps<2>(device, job);
    case 4:
      return launch_steps<4>(device, job);
    default:
      launch(device, filter_wide_warpgroup,
             LaunchShape(std::min<unsigned>(device.processors(), job.end_item - job.begin_item),
                         block_threads, sizeof(WideShared)),
             job);
  }
}

}  // namespace simjoin::gpu
