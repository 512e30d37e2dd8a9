#include <vector>

#include "cuda/launch.cuh"
#include "cuda/sign_hashed.hpp"

namespace simjoin::gpu {
namespace {

// About 20 ms of an H200 at a launch.
constexpr uint64_t most_evaluations = uint64_t{1} << 36;

// Returns a * b + c in one instruction; written in C++, ptxas adds the products of upper halves that are
// zero.
__device__ inline uint64_t multiply_add(uint32_t a, uint32_t b, uint64_t c) {
  uint64_t result;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(result) : "r"(a), "r"(b), "l"(c));
  return result;
}

// The permutations of a lane, in registers.
template <int group>
struct LaneGroup {
  uint32_t a_low[group], a_high[group], least[group];
  uint64_t b[group];
  uint32_t flip;

  __device__ void load(const DevicePermutations::View &table, uint32_t number) {
    const bool used = number < table.groups;
    flip = used ? table.flips[number] : 0;
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const uint64_t p = uint64_t{number} * group + i;
      a_low[i] = used ? table.a_low[p] : 0;
      a_high[i] = used ? table.a_high[p] : 0;
      b[i] = used ? table.b[p] : 0;
    }
  }

  // The steps of `upper_value`.
  __device__ void lower(uint32_t hash) {
    const uint32_t flipped = hash ^ flip;
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const uint64_t low = multiply_add(a_low[i], flipped, b[i]);
      const uint64_t high = multiply_add(a_high[i], flipped, low >> 32);
      least[i] = min(least[i], static_cast<uint32_t>(low) + static_cast<uint32_t>(high >> 29));
    }
  }
};

// Lowers the least values of a lane by the hashes of a set, which all lanes of the warp go through together.
template <int group>
__device__ void lower_by_set(LaneGroup<group> &lanes, const uint32_t *hashes, uint32_t count, uint32_t lane) {
#pragma unroll
  for (int i = 0; i < group; ++i) lanes.least[i] = UINT32_MAX;
  for (uint32_t base = 0; base < count; base += warp_threads) {
    // Past the end the last hash again, which changes nothing.
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

// A warp a task: a piece of the sets, a block of 32 groups of permutations.
template <int group>
__global__ void lower_pieces(DevicePermutations::View table, RoundView round, const uint32_t *hashes,
                             uint32_t blocks, TaskRange tasks) {
  const uint32_t lane = threadIdx.x % warp_threads;
  const uint64_t warps = uint64_t{gridDim.x} * block_warps;
  uint32_t loaded = UINT32_MAX;
  LaneGroup<group> lanes;
  for (uint64_t task = uint64_t{blockIdx.x} * block_warps + threadIdx.x / warp_threads; task < tasks.count;
       task += warps) {
    const Piece piece = round.pieces[(tasks.first + task) / blocks];
    const uint32_t number = static_cast<uint32_t>((tasks.first + task) % blocks) * warp_threads + lane;
    if (number != loaded) lanes.load(table, loaded = number);
    for (uint32_t set = piece.first_set; set < piece.first_set + piece.sets; ++set) {
      const SetRange range = round.sets[set];
      const uint32_t begin = max(range.begin, piece.begin);
      const uint32_t count = min(uint32_t{range.end}, piece.end) - begin;
      lower_by_set(lanes, hashes + begin, count, lane);
      if (number >= table.groups) continue;
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

// Returns how many permutations a lane works on: four where there are enough.
size_t group_for(size_t permutations) {
  if (permutations <= warp_threads) return 1;
  return permutations <= 2 * warp_threads ? 2 : 4;
}

template <class To, class From>
DeviceBuffer<To> upload(Device &device, const From *from, size_t count) {
  const std::vector<To> values(from, from + count);
  DeviceBuffer<To> buffer(device, count);
  copy_to_device(device, buffer.data(), values.data(), count);
  device.synchronize();
  return buffer;
}

}  // namespace

DevicePermutations::DevicePermutations(Device &device, std::span<const Permutation> permutations)
    : group_(group_for(permutations.size())) {
  const PermutationTable table(permutations, group_);
  a_low_ = upload<uint32_t>(device, table.a_low(), table.size());
  a_high_ = upload<uint32_t>(device, table.a_high(), table.size());
  b_ = upload<uint64_t>(device, table.b(), table.size());
  numbers_ = upload<uint32_t>(device, table.numbers(), table.size());
  flips_ = upload<uint32_t>(device, table.flips(), table.groups());
  std::vector<Permutation> inverses(table.size());
  for (size_t i = 0; i < table.size(); ++i) inverses[i] = table.inverse(i);
  inverses_ = upload<Permutation>(device, inverses.data(), inverses.size());
  view_ = {a_low_.data(),
           a_high_.data(),
           b_.data(),
           inverses_.data(),
           numbers_.data(),
           flips_.data(),
           static_cast<uint32_t>(table.groups())};
}

void sign_hashed(const Device &device, const DevicePermutations &permutations, const RoundView &round,
                 const uint32_t *hashes, const std::function<void()> &pause) {
  const uint32_t groups = permutations.view().groups;
  const uint32_t blocks = (groups + warp_threads - 1) / warp_threads;
  const uint64_t all = uint64_t{round.piece_count} * blocks;
  const uint64_t cost = uint64_t{piece_tokens} * warp_threads * permutations.group();
  for (uint64_t done = 0; done < all;) {
    const TaskRange tasks = next_tasks(done, all, cost, most_evaluations);
    const auto kernel = permutations.group() == 1   ? lower_pieces<1>
                        : permutations.group() == 2 ? lower_pieces<2>
                                                    : lower_pieces<4>;
    if (done > 0) pause();
    launch(device, kernel, blocks_for(device, tasks.count, warp_threads), permutations.view(), round, hashes,
           blocks, tasks);
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
