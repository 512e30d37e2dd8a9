// PageRank: by power iteration, and by random walks.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/graph/graph.hpp"

namespace simjoin {

// The nodes in ascending order, and the rank of each; the ranks add up to 1.
struct Ranks {
  explicit Ranks(MemoryCounter &memory) : nodes(memory), ranks(memory) {}

  Buffer<int64_t> nodes;
  Buffer<double> ranks;
};

// A surfer follows an edge of the node with the probability `damping`, in proportion to the edges' weights.
// Otherwise, and from a node without edges, the surfer goes to any node.
//
// Returns the probabilities of the nodes, with an error of at most `tolerance` over all of them (the sum of
// absolute differences, rounding aside). 0 <= damping < 1, tolerance > 0. The same for any number of workers.
// `share_done` (may be null) gets the share of the work that is done, from 0 to 1.
Ranks pagerank_power(EdgeList &edges, EdgeUse use, double damping, double tolerance, WorkerPool &pool,
                     MemoryCounter &memory, std::atomic<double> *share_done = nullptr);

// Returns estimates of the same probabilities. From each node `coupons` walks start, which end with the
// probability 1 - damping in each step. A node's rank is its share of all visits (Das Sarma, Molla,
// Pandurangan, Upfal: Fast distributed PageRank computation, 2013). The same for any number of workers and
// every device. A node with v visits has a relative error of about 1 / sqrt(v).
Ranks pagerank_random_walk(EdgeList &edges, EdgeUse use, double damping, uint32_t coupons, uint64_t seed,
                           WorkerPool &pool, MemoryCounter &memory,
                           std::atomic<double> *share_done = nullptr);

// Returns the number of steps of power iteration after which the error is below the tolerance for any graph.
// The error begins below 2, and each step multiplies it by the damping factor.
uint64_t most_power_steps(double damping, double tolerance);

// Throws Error invalid_argument, since the weights of a node's edges have no finite sum.
[[noreturn]] void throw_weights_too_large();

}  // namespace simjoin
