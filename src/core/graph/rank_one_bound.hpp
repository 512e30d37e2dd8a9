// A bound of the density of subgraphs of small graphs, from the two leading eigenvectors.
#pragma once

#include <cstddef>

#include "core/graph/graph.hpp"
#include "core/graph/spectrum.hpp"

namespace simjoin {

// Graphs of more nodes have no such bound. Its proof takes 20 ms at 500 nodes and eight times as long at
// twice as many, and 4 bytes a pair of nodes.
inline constexpr size_t most_nodes_of_rank_one_bound = 500;

// Returns the smaller of `bound` and the rank-one bound of the mean weighted degree of any k nodes, rounding
// aside: μ + λ·(the sum of the k largest |v|)²/k, where no eigenvalue of A − λ·v·vᵀ is larger than μ
// (Papailiopoulos, Mitliagkas, Dimakis, Caramanis: Finding dense subgraphs via low-rank bilinear
// optimization, 2014). v is the first vector of the spectrum, which need not have converged: a Cholesky
// factorization proves μ. The same for any number of workers.
double with_rank_one_bound(double bound, const Graph &graph, const Spectrum &spectrum, size_t k,
                           WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
