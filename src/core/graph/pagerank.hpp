// PageRank: by power iteration, and by random walks.
#pragma once

#include <cstdint>

#include "core/graph/graph.hpp"

namespace simjoin {

// The nodes in ascending order, and the rank of each; the ranks add up to 1.
struct Ranks {
  explicit Ranks(MemoryCounter &memory) : nodes(memory), ranks(memory) {}

  Buffer<int64_t> nodes;
  Buffer<double> ranks;
};

// A surfer follows one of a node's edges with the probability `damping`, each in proportion to its weight,
// and else goes to any node; from a node without edges to any node, too.
//
// Returns the probabilities of the nodes, with an error of at most `tolerance` over all of them (the sum of
// absolute differences, rounding aside). 0 <= damping < 1, tolerance > 0. The same for any number of workers.
Ranks pagerank_power(EdgeList &edges, EdgeUse use, double damping, double tolerance, WorkerPool &pool,
                     MemoryCounter &memory);

// Returns estimates of the same probabilities: from each node `coupons` walks start, which end with the
// probability 1 - damping in each step, and a node's rank is its share of all visits (Das Sarma, Molla,
// Pandurangan, Upfal: Fast distributed PageRank computation, 2013). The same for any number of workers and
// every device; of a node that has v visits the relative error is about 1 / sqrt(v).
Ranks pagerank_random_walk(EdgeList &edges, EdgeUse use, double damping, uint32_t coupons, uint64_t seed,
                           WorkerPool &pool, MemoryCounter &memory);

// Returns after how many steps of power iteration the error is below the tolerance whatever the graph: each
// multiplies it by the damping factor, and it begins below 2.
uint64_t most_power_steps(double damping, double tolerance);

// Throws Error invalid_argument: the weights of a node's edges have no finite sum.
[[noreturn]] void throw_weights_too_large();

}  // namespace simjoin
