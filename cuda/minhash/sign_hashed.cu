#include <vector>

#include "cuda/base/launch.cuh"
#include "cuda/minhash/sign_hashed.hpp"

namespace simjoin::gpu {
namespace {

// A launch takes about 20 ms on an H200.
constexpr uint64_t most_evaluations = uint64_t{1} << 36;

// Returns a * b + {high, low} in one instruction, unless the compiler splits sum and product.
__device__ inline uint2 multiply_add(uint32_t a, uint32_t b, uint32_t low, uint32_t high) {
  uint2 result;
  asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, %5;"
      : "=&r"(result.x), "=r"(result.y)
      : "r"(a), "r"(b), "r"(low), "r"(high));
  return result;
}

// The permutations of a lane, held in registers.
template <int group>
struct LaneGroup {
  uint32_t a_low[group], a_top[group], b_low[group], b_high[group], least[group];
  uint32_t flip;

  __device__ void load(const DevicePermutations::View &table, uint32_t number) {
    flip = table.flips[number];
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const uint64_t p = uint64_t{number} * group + i;
      a_low[i] = table.a_low[p];
      a_top[i] = table.a_high[p] << 3;  // 29 bits
      b_low[i] = static_cast<uint32_t>(table.b[p]);
      b_high[i] = static_cast<uint32_t>(table.b[p] >> 32);
    }
  }

  // The steps of `upper_value`, with a_high and the summand of its product shifted by 3 bits. The upper half
  // of the sum is then what the lower half of the first product needs.
  __device__ void lower(uint32_t hash) {
    const uint32_t flipped = hash ^ flip;
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const uint2 low = multiply_add(a_low[i], flipped, b_low[i], b_high[i]);
      const uint2 high = multiply_add(a_top[i], flipped, low.y << 3, low.y >> 29);
      least[i] = min(least[i], low.x + high.y);
    }
  }
};

// Lowers the least values of a lane by the hashes of a set. All lanes of the warp walk through the set
// together.
template <int group>
__device__ void lower_by_set(LaneGroup<group> &lanes, const uint32_t *hashes, uint32_t count, uint32_t lane) {
#pragma unroll
  for (int i = 0; i < group; ++i) lanes.least[i] = UINT32_MAX;
  for (uint32_t base = 0; base < count; base += warp_threads) {
    // Lanes past the end repeat the last hash, which changes nothing.
    const uint32_t mine = hashes[min(base + lane, count - 1)];
    const uint32_t left = count - base;
    if (left >= warp_threads) {
#pragma unroll 8
      for (int j = 0; j < warp_threads; ++j) lanes.lower(__shfl_sync(~0u, mine, j));
    } else {
      for (uint32_t j = 0; j < left; ++j) lanes.lower(__shfl_sync(~0u, mine, j));
    }
  }
}

// One warp per task: a piece of the sets and a block of 32 groups of permutations.
template <int group>
__global__ void lower_pieces(DevicePermutations::View table, RoundView round, const uint32_t *hashes,
                             TaskRange tasks) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  uint32_t loaded = UINT32_MAX;
  LaneGroup<group> lanes;
  for (uint64_t task = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; task < tasks.count;
       task += warps) {
    const Piece piece = round.pieces[(tasks.first + task) / table.blocks];
    const uint32_t number = static_cast<uint32_t>((tasks.first + task) % table.blocks) * warp_threads + lane;
    if (number != loaded) lanes.load(table, loaded = number);
    for (uint32_t set = piece.first_set; set < piece.first_set + piece.sets; ++set) {
      const SetRange range = round.sets[set];
      const uint32_t begin = max(range.begin, piece.begin);
      const uint32_t count = min(uint32_t{range.end}, piece.end) - begin;
      lower_by_set(lanes, hashes + begin, count, lane);
#pragma unroll
      for (int i = 0; i < group; ++i) {
        const uint64_t p = uint64_t{number} * group + i;
        if (table.numbers[p] == PermutationTable::padding) continue;
        uint32_t value = lanes.least[i];
        if (suspect_value(table.inverses[p], value))
          value = corrected_value(table.inverses[p], value, hashes + begin, count);
        uint32_t *to = round.values + uint64_t{set} * round.permutations + table.numbers[p];
        if (piece.slot == no_slot)
          *to = value;
        else
          atomicMin(to, value);
      }
    }
  }
}

__global__ void hash_bands_of_sets(SignatureHeader header, BandPlan plan, RoundView round, uint64_t *hashes) {
  SIMJOIN_GRID_STRIDE(i, uint64_t{round.set_count} * plan.bands) {
    const auto band = static_cast<uint32_t>(i % plan.bands);
    hashes[i] =
        band_hash(header, band,
                  round.values + i / plan.bands * round.permutations + uint64_t{band} * plan.rows, plan.rows);
  }
}

// Returns how many permutations a lane works on: up to four, but few enough to use all lanes.
size_t group_for(size_t permutations) {
  if (permutations <= warp_threads) return 1;
  return permutations <= 2 * warp_threads ? 2 : 4;
}

// Returns a device array of `size` elements: the `count` elements of `from`, then `padding`.
template <class To, class From>
DeviceBuffer<To> upload(Device &device, const From *from, size_t count, size_t size, To padding) {
  std::vector<To> values(from, from + count);
  values.resize(size, padding);
  DeviceBuffer<To> buffer(device, size);
  copy_to_device(device, buffer.data(), values.data(), size);
  device.synchronize();
  return buffer;
}

}  // namespace

DevicePermutations::DevicePermutations(Device &device, std::span<const Permutation> permutations)
    : group_(group_for(permutations.size())) {
  const PermutationTable table(permutations, group_);
  const size_t blocks = (table.groups() + warp_threads - 1) / warp_threads;
  const size_t count = table.size(), size = blocks * warp_threads * group_;
  std::vector<Permutation> inverses(count);
  for (size_t i = 0; i < count; ++i) inverses[i] = table.inverse(i);
  a_low_ = upload<uint32_t>(device, table.a_low(), count, size, 0);
  a_high_ = upload<uint32_t>(device, table.a_high(), count, size, 0);
  b_ = upload<uint64_t>(device, table.b(), count, size, 0);
  numbers_ = upload<uint32_t>(device, table.numbers(), count, size, PermutationTable::padding);
  flips_ = upload<uint32_t>(device, table.flips(), table.groups(), blocks * warp_threads, 0);
  inverses_ = upload<Permutation>(device, inverses.data(), count, size, Permutation{0, 0});
  view_ = {a_low_.data(),
           a_high_.data(),
           b_.data(),
           inverses_.data(),
           numbers_.data(),
           flips_.data(),
           static_cast<uint32_t>(blocks)};
}

void sign_hashed(const Device &device, const DevicePermutations &permutations, const RoundView &round,
                 const uint32_t *hashes, const std::function<void()> &pause) {
  const uint64_t all = uint64_t{round.piece_count} * permutations.view().blocks;
  const uint64_t cost = uint64_t{piece_tokens} * warp_threads * permutations.group();
  for (uint64_t done = 0; done < all;) {
    const TaskRange tasks = next_tasks(done, all, cost, most_evaluations);
    const auto kernel = permutations.group() == 1   ? lower_pieces<1>
                        : permutations.group() == 2 ? lower_pieces<2>
                                                    : lower_pieces<4>;
    if (done > 0) pause();
    launch(device, kernel, blocks_for(device, tasks.count, warp_threads), permutations.view(), round, hashes,
           tasks);
    done += tasks.count;
  }
}

void hash_bands(const Device &device, const SignatureHeader &header, const BandPlan &plan,
                const RoundView &round, uint64_t *hashes) {
  if (round.set_count == 0) return;
  launch(device, hash_bands_of_sets, blocks_for(device, uint64_t{round.set_count} * plan.bands), header, plan,
         round, hashes);
}

}  // namespace simjoin::gpu
