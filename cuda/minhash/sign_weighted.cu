#include "core/minhash/weighted_minhash_kernels.hpp"
#include "cuda/base/launch.cuh"
#include "cuda/minhash/sign_weighted.hpp"

namespace simjoin::gpu {
namespace {

// A launch takes about 40 ms on an H200 if no draw is in the table.
constexpr uint64_t most_draws = uint64_t{1} << 32;
constexpr uint32_t no_position = UINT32_MAX;

// Returns a / b, correctly rounded. These are the compiler's own steps without its test for operands near the
// ends of the range. No r (1e-7 to 33) and no logarithm of a weight (0, or 6e-8 to 120) is there. The
// compiler's code would take its slow path for every weight of 1.
__device__ inline float quotient(float a, float b) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
  y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
  float q = __fmul_rn(a, y);
  q = __fmaf_rn(__fmaf_rn(-b, q, a), y, q);
  return __fmaf_rn(__fmaf_rn(-b, q, a), y, q);
}

// The samples of a lane: the least ln a so far, its token, and its t.
template <int samples>
struct LaneSamples {
  float least[samples], t[samples];
  uint32_t token[samples];

  __device__ void start() {
#pragma unroll
    for (int i = 0; i < samples; ++i) {
      least[i] = __int_as_float(0x7F800000);
      t[i] = 0;
      token[i] = no_position;
    }
  }

  // Lowers sample i by a token. As in draw_weighted, t is the largest whole number up to the position.
  __device__ void lower(int i, const SampleNumbers &numbers, float ln_weight, uint32_t position) {
    const float drawn_t = floorf(quotient(ln_weight, numbers.r) + numbers.beta);
    const float ln_a = ln_a_of(numbers, drawn_t);
    if (ln_a < least[i]) {
      least[i] = ln_a;
      t[i] = drawn_t;
      token[i] = position;
    }
  }
};

template <int samples>
struct Numbers {
  float value[samples];

  __device__ static Numbers load(const float *from) {
    Numbers numbers;
    if constexpr (samples == 4) {
      const float4 four = __ldg(reinterpret_cast<const float4 *>(from));
      numbers = {{four.x, four.y, four.z, four.w}};
    } else if constexpr (samples == 2) {
      const float2 two = __ldg(reinterpret_cast<const float2 *>(from));
      numbers = {{two.x, two.y}};
    } else {
      numbers = {{__ldg(from)}};
    }
    return numbers;
  }
};

// A set, as all lanes of a warp see it.
struct SetView {
  const WeightedTokens &tokens;
  const DrawTable::View &table;
  uint64_t seed;
  uint32_t first_sample;  // first sample of this lane
  bool used;              // this lane has samples

  // Lowers the samples by `count` tokens, all in the table. The lanes hold the tokens' numbers and
  // logarithms.
  template <int samples>
  __device__ void lower_from_table(LaneSamples<samples> &lanes, uint32_t base, uint32_t count,
                                   uint32_t number, float ln_weight) const {
#pragma unroll 2
    for (uint32_t j = 0; j < count; ++j) {
      const uint32_t token = __shfl_sync(~0u, number, j);
      const float ln_w = __shfl_sync(~0u, ln_weight, j);
      if (!used) continue;
      const float *row = table.draws + uint64_t{token} * 3 * table.stride + first_sample;
      const auto r = Numbers<samples>::load(row), ln_c = Numbers<samples>::load(row + table.stride);
      const auto beta = Numbers<samples>::load(row + uint64_t{2} * table.stride);
#pragma unroll
      for (int i = 0; i < samples; ++i)
        lanes.lower(i, {r.value[i], ln_c.value[i], beta.value[i]}, ln_w, base + j);
    }
  }

  // The same for tokens that may be missing from the table.
  template <int samples>
  __device__ void lower_by_drawing(LaneSamples<samples> &lanes, uint32_t base, uint32_t count,
                                   float ln_weight) const {
    for (uint32_t j = 0; j < count; ++j) {
      const uint64_t identity = tokens.identities[base + j];
      const float ln_w = __shfl_sync(~0u, ln_weight, j);
#pragma unroll
      for (int i = 0; i < samples; ++i)
        lanes.lower(i,
                    sample_numbers(seed, static_cast<uint32_t>(identity),
                                   static_cast<uint32_t>(identity >> 32), first_sample + i),
                    ln_w, base + j);
    }
  }

  template <int samples>
  __device__ void lower(LaneSamples<samples> &lanes, uint32_t begin, uint32_t end, bool logarithms,
                        uint32_t lane) const {
    for (uint32_t base = begin; base < end; base += warp_threads) {
      const uint32_t count = min(end - base, uint32_t{warp_threads});
      uint32_t number = 0;
      float ln_weight = 0;
      if (lane < count) {
        const uint32_t place = tokens.places[base + lane];
        number = place == no_token ? no_token : table.numbers[place];
        const float weight = tokens.weights[base + lane];
        ln_weight = logarithms ? weight : log_of(weight);
      }
      if (__all_sync(~0u, number != no_token))
        lower_from_table(lanes, base, count, number, ln_weight);
      else
        lower_by_drawing(lanes, base, count, ln_weight);
    }
  }
};

// Returns a number that sorts as (ln a, token).
__device__ unsigned long long in_order(float ln_a, uint32_t token) {
  const uint32_t bits = __float_as_uint(ln_a + 0.0f);  // turns -0 into 0
  const uint32_t ordered = bits ^ (bits >> 31 != 0 ? ~0u : 0x80000000u);
  return static_cast<unsigned long long>(ordered) << 32 | token;
}

// One warp per task: a piece of the sets and a block of 32 times `samples` samples.
template <int samples>
__global__ void sample_pieces(uint64_t seed, DrawTable::View table, RoundView round, WeightedTokens tokens,
                              PartialSamples partial, uint32_t blocks, TaskRange tasks) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  for (uint64_t task = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; task < tasks.count;
       task += warps) {
    const Piece piece = round.pieces[(tasks.first + task) / blocks];
    const auto block = static_cast<uint32_t>((tasks.first + task) % blocks);
    const uint32_t first_sample = (block * warp_threads + lane) * samples;
    const SetView view{tokens, table, seed, first_sample, first_sample < round.permutations};
    for (uint32_t set = piece.first_set; set < piece.first_set + piece.sets; ++set) {
      const SetRange range = round.sets[set];
      LaneSamples<samples> lanes;
      lanes.start();
      view.lower(lanes, max(range.begin, piece.begin), min(uint32_t{range.end}, piece.end),
                 range.logarithms != 0, lane);
#pragma unroll
      for (int i = 0; i < samples; ++i) {
        const uint32_t sample = first_sample + i;
        if (sample >= round.permutations) break;
        const bool none = lanes.token[i] == no_position;
        if (piece.slot == no_slot) {
          round.values[uint64_t{set} * round.permutations + sample] = sample_value(
              sample, none ? 0 : tokens.identities[lanes.token[i]], static_cast<int32_t>(lanes.t[i]));
        } else if (!none) {
          atomicMin(partial.least + uint64_t{piece.slot} * round.permutations + sample,
                    in_order(lanes.least[i], lanes.token[i]));
        }
      }
    }
  }
}

// One thread per sample of a set in parts.
__global__ void finish_parts(uint64_t seed, RoundView round, WeightedTokens tokens, PartialSamples partial) {
  SIMJOIN_GRID_STRIDE(i, uint64_t{partial.slots} * round.permutations) {
    const auto sample = static_cast<uint32_t>(i % round.permutations);
    const uint32_t set = partial.sets[i / round.permutations];
    const auto token = static_cast<uint32_t>(partial.least[i]);
    uint64_t identity = 0;
    int32_t t = 0;
    if (token != no_position) {
      identity = tokens.identities[token];
      const float weight = tokens.weights[token];
      t = draw_weighted(seed, static_cast<uint32_t>(identity), static_cast<uint32_t>(identity >> 32), sample,
                        round.sets[set].logarithms ? weight : log_of(weight))
              .t;
    }
    round.values[uint64_t{set} * round.permutations + sample] = sample_value(sample, identity, t);
  }
}

}  // namespace

void sign_weighted(const Device &device, uint64_t seed, const DrawTable::View &table, const RoundView &round,
                   const WeightedTokens &tokens, const PartialSamples &partial,
                   const std::function<void()> &pause) {
  const uint32_t permutations = round.permutations;
  const uint32_t samples = permutations <= warp_threads ? 1 : permutations <= 2 * warp_threads ? 2 : 4;
  const uint32_t blocks = (permutations + warp_threads * samples - 1) / (warp_threads * samples);
  const auto kernel = samples == 1 ? sample_pieces<1> : samples == 2 ? sample_pieces<2> : sample_pieces<4>;
  const uint64_t all = uint64_t{round.piece_count} * blocks;
  const uint64_t cost = uint64_t{piece_tokens} * warp_threads * samples;
  for (uint64_t done = 0; done < all;) {
    const TaskRange tasks = next_tasks(done, all, cost, most_draws);
    if (done > 0) pause();
    launch(device, kernel, blocks_for(device, tasks.count, warp_threads), seed, table, round, tokens, partial,
           blocks, tasks);
    done += tasks.count;
  }
  if (partial.slots == 0) return;
  launch(device, finish_parts, blocks_for(device, uint64_t{partial.slots} * permutations), seed, round,
         tokens, partial);
}

}  // namespace simjoin::gpu
