#include "cuda/base/binary_search.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/filters/signature_bits.cuh"
#include "cuda/filters/verification.hpp"

namespace simjoin::gpu {
namespace {

// Threads that share one pair. Sets of some dozens of tokens keep them busy.
constexpr int pair_lanes = 8;
constexpr int warp_pairs = warp_threads / pair_lanes;
constexpr uint32_t unreachable = UINT32_MAX;
// A block shares a pair with a set of at least this many tokens, and takes this many tokens at a time.
// Candidates of `orkut` mostly have 16,000 to 40,000 tokens.
constexpr uint32_t long_tokens = 1024;

struct ResultView {
  const Candidate *pairs;
  uint64_t capacity;
  PairCounters *counters;
  uint32_t *left;
  uint32_t *right;
  uint32_t *overlap;
  uint32_t *long_pairs;
  uint64_t begin, end;  // of the candidates to verify
};

// Returns the overlap that a pair of sets of sizes `r` and `s` needs.
__device__ uint32_t required_overlap(const VerificationJob &job, uint32_t r, uint32_t s) {
  if (job.everything) return 0;
  if (r == 0 || s == 0) return unreachable;
  return static_cast<uint32_t>(job.bounds.min_overlap(r, s));
}

// Returns an upper bound of the pair's overlap from its signatures. If a block checks signatures, all its
// threads take part.
__device__ uint32_t signature_bound(const VerificationJob &job, const Candidate &pair) {
  const SignatureView &left = job.probe_signatures, &right = job.partner_signatures;
  const uint32_t r = pair.probe - left.first, s = pair.partner - right.first;
  const uint32_t shared =
      job.checks_by_block() ? shared_bits_by_block(left, r, right, s) : shared_bits(left, r, right, s);
  return shared + min(left.excess[r], right.excess[s]);
}

// Returns the overlap of two sets to all lanes of the group that shares the pair. Each lane merges its part
// of the larger set with the matching part of the smaller set.
__device__ uint32_t merge(const uint32_t *ranks, const SetRecord &a, const SetRecord &b, int lane,
                          unsigned group) {
  const bool swap = a.stored < b.stored;
  const uint32_t *large = ranks + (swap ? b.start : a.start), *small = ranks + (swap ? a.start : b.start);
  const uint64_t larger = max(a.stored, b.stored);
  const uint32_t smaller = min(a.stored, b.stored);
  auto i = static_cast<uint32_t>(larger * lane / pair_lanes);
  const auto end = static_cast<uint32_t>(larger * (lane + 1) / pair_lanes);
  uint32_t overlap = 0;
  if (i < end) {
    for (uint32_t j = lower_bound(small, 0u, smaller, large[i]); i < end && j < smaller;) {
      const uint32_t x = large[i], y = small[j];
      overlap += x == y;
      i += x <= y;
      j += y <= x;
    }
  }
  for (int distance = pair_lanes / 2; distance > 0; distance /= 2) {
    overlap += __shfl_xor_sync(group, overlap, distance);
  }
  return overlap;
}

__device__ SetRecord load_record(const SetRecord *records, uint32_t set) {
  const auto *from = reinterpret_cast<const uint4 *>(records + set);
  const uint4 x = from[0];
  const uint32_t row = reinterpret_cast<const uint32_t *>(from + 1)[0];
  return {uint64_t{x.y} << 32 | x.x, x.z, x.w, row};
}

__device__ void write_result(const VerificationJob &job, const ResultView &out, unsigned long long position,
                             uint32_t probe_row, uint32_t partner_row, uint32_t overlap) {
  const bool swap = job.self_join && probe_row > partner_row;
  out.left[position] = swap ? partner_row : probe_row;
  out.right[position] = swap ? probe_row : partner_row;
  out.overlap[position] = overlap;
}

// Returns a new position for each lane of the warp with `takes` set.
__device__ unsigned long long next_position(unsigned long long *count, bool takes) {
  const unsigned takers = __ballot_sync(~0u, takes);
  if (takers == 0) return 0;
  const int lane = threadIdx.x % warp_threads;
  unsigned long long position = 0;
  if (lane == 0) position = atomicAdd(count, static_cast<unsigned long long>(__popc(takers)));
  return __shfl_sync(~0u, position, 0) + __popc(takers & ((1u << lane) - 1));
}

// Appends a result for each lane of the warp with `found` set.
__device__ void append_results(const VerificationJob &job, const ResultView &out, bool found,
                               uint32_t probe_row, uint32_t partner_row, uint32_t overlap) {
  const unsigned long long position = next_position(&out.counters->results, found);
  if (found) write_result(job, out, position, probe_row, partner_row, overlap);
}

// Compares the tokens of the pairs of the lanes in `left_over`: `pair_lanes` lanes per pair, `warp_pairs`
// pairs at a time.
__device__ void verify_tokens(const VerificationJob &job, const ResultView &out, unsigned left_over,
                              const Candidate &pair, uint32_t required) {
  const int lane = threadIdx.x % warp_threads, group = lane / pair_lanes;
  const unsigned group_mask = ((1u << pair_lanes) - 1) << (group * pair_lanes);
  while (left_over != 0) {
    int source = -1;  // the lane whose pair this lane's group takes
    for (int g = 0; g < warp_pairs && left_over != 0; ++g) {
      if (g == group) source = __ffs(left_over) - 1;
      left_over &= left_over - 1;
    }
    const uint32_t probe = __shfl_sync(~0u, pair.probe, max(source, 0));
    const uint32_t partner = __shfl_sync(~0u, pair.partner, max(source, 0));
    const uint32_t needed = __shfl_sync(~0u, required, max(source, 0));
    uint32_t overlap = 0, probe_row = 0, partner_row = 0;
    if (source >= 0) {
      const SetRecord a = load_record(job.probes, probe), b = load_record(job.partners, partner);
      probe_row = a.row;
      partner_row = b.row;
      overlap = merge(job.ranks, a, b, lane % pair_lanes, group_mask);
    }
    __syncwarp();
    append_results(job, out, source >= 0 && overlap >= needed && lane % pair_lanes == 0, probe_row,
                   partner_row, overlap);
  }
}

// Each warp takes 32 pairs. First each lane checks the sizes and signatures of one pair, then the warp
// compares the tokens of the pairs left. Exact signatures yield results at once. Long pairs, and those with
// wide signatures, are left to verify_long_pairs().
__global__ void verify(const __grid_constant__ VerificationJob job, const ResultView out) {
  if (out.counters->candidates > out.capacity) return;
  const uint64_t count = min(uint64_t{out.counters->candidates}, out.end);
  const int lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  const uint64_t warp = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads;
  for (uint64_t first = out.begin + warp * warp_threads; first < count; first += warps * warp_threads) {
    Candidate pair{};
    uint32_t required = unreachable, bound = 0;
    if (first + lane < count) {
      pair = out.pairs[first + lane];
      required = required_overlap(job, job.probes[pair.probe].size, job.partners[pair.partner].size);
      if (required != unreachable && job.check_signatures && !job.checks_by_block()) {
        bound = signature_bound(job, pair);
        if (bound < required) required = unreachable;
      }
    }
    const bool left_over = required != unreachable;
    const unsigned lanes = __ballot_sync(~0u, left_over);
    if (lane == 0 && lanes != 0 && !job.checks_by_block()) {
      atomicAdd(&out.counters->verified, static_cast<unsigned long long>(__popc(lanes)));
    }
    if (job.exact_signatures && !job.checks_by_block()) {
      append_results(job, out, left_over, left_over ? job.probes[pair.probe].row : 0,
                     left_over ? job.partners[pair.partner].row : 0, bound);
    } else {
      const bool is_long =
          left_over && (job.checks_by_block() ||
                        max(job.probes[pair.probe].stored, job.partners[pair.partner].stored) >= long_tokens);
      const unsigned long_lanes = __ballot_sync(~0u, is_long);
      const unsigned long long position = next_position(&out.counters->long_pairs, is_long);
      if (is_long) out.long_pairs[position] = static_cast<uint32_t>(first + lane);
      verify_tokens(job, out, lanes & ~long_lanes, pair, required);
    }
  }
}

// Returns the overlap of two sets to all threads of a block, or a number below `required` if the overlap is
// smaller. The block takes the larger set tile by tile and searches it for the tokens of the smaller set. It
// stops when too few tokens are left. Adjacent threads load adjacent words.
__device__ uint32_t overlap_of_block(const uint32_t *ranks, const SetRecord &a, const SetRecord &b,
                                     uint32_t required) {
  __shared__ uint32_t tile[long_tokens];
  const bool swap = a.stored < b.stored;
  const uint32_t *large = ranks + (swap ? b.start : a.start), *small = ranks + (swap ? a.start : b.start);
  const uint32_t larger = max(a.stored, b.stored), smaller = min(a.stored, b.stored);
  uint32_t overlap = 0, taken = 0;  // tokens of the smaller set already searched for
  for (uint32_t begin = 0; begin < larger && taken < smaller; begin += long_tokens) {
    const uint32_t left = larger - begin;
    if (overlap + min(left, smaller - taken) < required) break;
    const uint32_t count = min(left, long_tokens);
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) tile[i] = large[begin + i];
    __syncthreads();
    for (uint32_t now = blockDim.x; now == blockDim.x;) {
      const uint32_t i = taken + threadIdx.x;
      const bool belongs = i < smaller && small[i] <= tile[count - 1];
      const bool matches = belongs && tile[lower_bound(tile, 0u, count, small[i])] == small[i];
      now = __syncthreads_count(belongs);
      overlap += __syncthreads_count(matches);
      taken += now;
    }
  }
  return overlap;
}

// One block per pair.
__global__ void verify_long_pairs(const __grid_constant__ VerificationJob job, const ResultView out) {
  for (uint64_t i = blockIdx.x; i < out.counters->long_pairs; i += gridDim.x) {
    const Candidate pair = out.pairs[out.long_pairs[i]];
    const SetRecord a = load_record(job.probes, pair.probe), b = load_record(job.partners, pair.partner);
    const uint32_t required = required_overlap(job, a.size, b.size);
    uint32_t overlap = 0;
    if (job.checks_by_block()) {
      overlap = signature_bound(job, pair);
      if (overlap < required) continue;
      if (threadIdx.x == 0) atomicAdd(&out.counters->verified, 1ull);
    }
    if (!job.exact_signatures) overlap = overlap_of_block(job.ranks, a, b, required);
    if (threadIdx.x == 0 && overlap >= required)
      write_result(job, out, atomicAdd(&out.counters->results, 1ull), a.row, b.row, overlap);
  }
}

__global__ void enumerate(uint64_t begin, uint64_t end, uint32_t partners, bool self_join,
                          CandidateView out) {
  SIMJOIN_GRID_STRIDE(i, end - begin) {
    const Candidate pair{static_cast<uint32_t>((begin + i) / partners),
                         static_cast<uint32_t>((begin + i) % partners)};
    if (self_join && pair.probe >= pair.partner) continue;
    const unsigned long long position = atomicAdd(&out.counters->candidates, 1ull);
    if (position < out.capacity) out.pairs[position] = pair;
  }
}

}  // namespace

void launch_verification(Device &device, const VerificationJob &job, const CandidateBuffer &candidates,
                         uint64_t begin, uint64_t end) {
  const ResultView out{candidates.pairs.data(),
                       candidates.pairs.size(),
                       candidates.counters.data(),
                       candidates.results.left.data(),
                       candidates.results.right.data(),
                       candidates.results.overlap.data(),
                       candidates.long_pairs.data(),
                       begin,
                       end};
  if (begin > 0)
    SIMJOIN_DEVICE_CALL(cudaMemsetAsync(&candidates.counters.data()->long_pairs, 0,
                                        sizeof(PairCounters::long_pairs), device.stream()));
  // Only the device knows the number of candidates, so the grid fills the device.
  const unsigned blocks = static_cast<unsigned>(device.processors()) * 8;
  launch(device, verify, blocks, job, out);
  if (!job.exact_signatures || job.checks_by_block()) launch(device, verify_long_pairs, blocks, job, out);
}

void launch_enumeration(Device &device, uint64_t begin, uint64_t end, uint32_t partners, bool self_join,
                        const CandidateView &candidates) {
  if (begin >= end) return;
  launch(device, enumerate, blocks_for(device, end - begin), begin, end, partners, self_join, candidates);
}

}  // namespace simjoin::gpu
