#include <algorithm>
#include <chrono>

#include "core/graph/random.hpp"
#include "cuda/base/launch.cuh"
#include "cuda/graph/kernels.hpp"
#include "cuda/graph/sums.hpp"

namespace simjoin::gpu {
namespace {

// Steps of a launch. They are doubled or halved until a launch takes about `launch_time`. On an H200, a step
// takes 17 us if every walk misses the caches and all multiprocessors are busy. It takes longer if most walks
// meet at one node.
constexpr uint32_t first_steps = 128;
constexpr uint32_t most_steps = 1 << 16;
constexpr std::chrono::milliseconds launch_time{20};
// Blocks of 256 threads: as many walks as a multiprocessor has threads.
constexpr unsigned blocks_per_processor = 8;

__global__ void divide_weights(const uint64_t *offsets, uint64_t nodes, const double *totals, double *weights,
                               uint32_t *infinite) {
  SIMJOIN_GRID_STRIDE(thread, nodes * warp_threads) {
    const uint64_t node = thread / warp_threads, end = offsets[node + 1];
    if (!isfinite(totals[node])) *infinite = 1;
    for (uint64_t i = offsets[node] + thread % warp_threads; i < end; i += warp_threads)
      weights[i] /= totals[node];
  }
}

__global__ void accumulate(const uint64_t *offsets, uint64_t nodes, const double *weights,
                           double *cumulative) {
  SIMJOIN_GRID_STRIDE(node, nodes) {
    double sum = 0;
    for (uint64_t i = offsets[node]; i < offsets[node + 1]; ++i) cumulative[i] = sum += weights[i];
  }
}

__global__ void send(const uint64_t *offsets, uint64_t nodes, bool weighted, const double *ranks,
                     double *sent) {
  SIMJOIN_GRID_STRIDE(node, nodes) {
    const uint64_t degree = offsets[node + 1] - offsets[node];
    sent[node] = degree == 0 ? 0.0 : ranks[node] / (weighted ? 1.0 : static_cast<double>(degree));
  }
}

__global__ void damp(uint64_t nodes, double base, double damping, double *next) {
  SIMJOIN_GRID_STRIDE(node, nodes) next[node] = base + damping * next[node];
}

struct Lists {
  const uint64_t *offsets;
  const uint32_t *targets;
  const double *cumulative;  // null if the edges have no weights
  uint32_t nodes;
};

// Returns a random entry of [begin, end), drawn in proportion to the weights.
__device__ uint64_t weighted_entry(const double *cumulative, uint64_t begin, uint64_t end,
                                   WalkRandom &random) {
  const double bound = random.fraction() * cumulative[end - 1];
  uint64_t length = end - 1 - begin;
  while (length > 0) {
    const uint64_t half = length / 2;
    if (cumulative[begin + half] <= bound) {
      begin += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  return begin;
}

// Returns the node that a walk visits next.
__device__ uint32_t next_node(const Lists &lists, uint32_t node, WalkRandom &random) {
  const uint64_t begin = lists.offsets[node], end = lists.offsets[node + 1];
  if (begin == end) return static_cast<uint32_t>(random.below(lists.nodes));
  const uint64_t entry = lists.cumulative != nullptr ? weighted_entry(lists.cumulative, begin, end, random)
                                                     : begin + random.below(end - begin);
  return lists.targets[entry];
}

// Each thread moves one coupon after another, which evens out the lengths of the walks. Between two coupons,
// the thread's node is `nodes`.
__global__ void move_coupons(Lists lists, uint32_t steps, double damping, uint32_t coupons_per_node,
                             uint64_t coupons, uint64_t seed, uint64_t *lane_coupons, uint64_t *states,
                             uint32_t *lane_nodes, unsigned long long *visits, uint32_t *going_on) {
  const uint64_t lane = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                 all = uint64_t{gridDim.x} * blockDim.x;
  uint64_t coupon = lane_coupons[lane];
  uint32_t node = lane_nodes[lane];
  WalkRandom random(states[lane]);
  for (uint32_t step = 0; step < steps && coupon < coupons; ++step) {
    if (node == lists.nodes) {
      node = static_cast<uint32_t>(coupon / coupons_per_node);
      random = WalkRandom(seed, coupon);
    }
    atomicAdd(&visits[node], 1ull);
    if (random.fraction() >= damping) {
      coupon += all;
      node = lists.nodes;
    } else {
      node = next_node(lists, node, random);
    }
  }
  lane_coupons[lane] = coupon;
  lane_nodes[lane] = node;
  states[lane] = random.state();
  if (coupon < coupons) *going_on = 1;
}

__global__ void start_lanes(uint64_t lanes, uint32_t nodes, uint64_t *coupons, uint64_t *states,
                            uint32_t *lane_nodes) {
  SIMJOIN_GRID_STRIDE(lane, lanes) {
    coupons[lane] = lane;
    states[lane] = 0;
    lane_nodes[lane] = nodes;
  }
}

__global__ void divide_visits(const unsigned long long *visits, uint64_t nodes, double all, double *shares) {
  SIMJOIN_GRID_STRIDE(node, nodes) shares[node] = static_cast<double>(visits[node]) / all;
}

__global__ void count_visits(const unsigned long long *visits, uint64_t nodes, unsigned long long *all) {
  unsigned long long count = 0;
  SIMJOIN_GRID_STRIDE(node, nodes) count += visits[node];
  for (int half = warp_threads / 2; half > 0; half /= 2) count += __shfl_xor_sync(0xFFFFFFFFu, count, half);
  if (threadIdx.x % warp_threads == 0) atomicAdd(all, count);
}

}  // namespace

bool normalize_weights(Device &device, DeviceGraph &graph) {
  DeviceBuffer<double> totals(device, graph.nodes);
  DeviceBuffer<uint32_t> infinite(device, 1);
  infinite.fill(0);
  ListSums(device, graph).add_up(nullptr, totals.data());
  launch(device, divide_weights, blocks_for(device, graph.nodes, warp_threads), graph.offsets.data(),
         uint64_t{graph.nodes}, totals.data(), graph.weights.data(), infinite.data());
  return read_value(device, infinite.data()) == 0;
}

void accumulate_weights(Device &device, const DeviceGraph &graph, double *cumulative) {
  launch(device, accumulate, blocks_for(device, graph.nodes), graph.offsets.data(), uint64_t{graph.nodes},
         graph.weights.data(), cumulative);
}

void send_ranks(Device &device, const uint64_t *offsets, uint32_t nodes, bool weighted, const double *ranks,
                double *sent) {
  launch(device, send, blocks_for(device, nodes), offsets, uint64_t{nodes}, weighted, ranks, sent);
}

void damp_ranks(Device &device, uint32_t nodes, double base, double damping, double *next) {
  launch(device, damp, blocks_for(device, nodes), uint64_t{nodes}, base, damping, next);
}

WalkLanes::WalkLanes(Device &device, uint64_t coupons, uint64_t seed)
    : device_(device),
      coupons_(coupons),
      seed_(seed),
      blocks_(std::min(static_cast<unsigned>(device.processors()) * blocks_per_processor,
                       blocks_for(device, coupons))),
      coupon_(device, size_t{blocks_} * block_threads),
      state_(device, size_t{blocks_} * block_threads),
      node_(device, size_t{blocks_} * block_threads),
      going_on_(device, 1) {}

bool WalkLanes::walk(const DeviceGraph &graph, const double *cumulative, double damping,
                     uint32_t coupons_per_node, unsigned long long *visits) {
  if (steps_ == 0) {
    launch(device_, start_lanes, blocks_, uint64_t{coupon_.size()}, graph.nodes, coupon_.data(),
           state_.data(), node_.data());
    steps_ = first_steps;
  }
  going_on_.fill(0);
  device_.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  const Lists lists{graph.offsets.data(), graph.targets.data(), cumulative, graph.nodes};
  launch(device_, move_coupons, blocks_, lists, steps_, damping, coupons_per_node, coupons_, seed_,
         coupon_.data(), state_.data(), node_.data(), visits, going_on_.data());
  const bool ended = read_value(device_, going_on_.data()) == 0;
  const auto time = std::chrono::steady_clock::now() - begin;
  if (time > launch_time) steps_ = std::max(steps_ / 2, 1u);
  if (time < launch_time / 2) steps_ = std::min(steps_ * 2, most_steps);
  return ended;
}

void share_visits(Device &device, const unsigned long long *visits, uint32_t nodes, double all,
                  double *shares) {
  launch(device, divide_visits, blocks_for(device, nodes), visits, uint64_t{nodes}, all, shares);
}

uint64_t add_up_visits(Device &device, const unsigned long long *visits, uint32_t nodes) {
  DeviceBuffer<unsigned long long> all(device, 1);
  all.fill(0);
  launch(device, count_visits, blocks_for(device, nodes), visits, uint64_t{nodes}, all.data());
  return read_value(device, all.data());
}

}  // namespace simjoin::gpu
