// The densest subgraph of k nodes: candidates, and a bound of the density.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/graph/graph.hpp"
#include "core/graph/spectrum.hpp"

namespace simjoin {

enum class DensestMethod : uint8_t { automatic, bilinear, greedy };

inline constexpr std::string_view densest_method_names[] = {"auto", "bilinear", "greedy"};

struct DenseSubgraph {
  explicit DenseSubgraph(MemoryCounter &memory) : nodes(memory), degrees(memory) {}

  Buffer<int64_t> nodes;   // ascending
  Buffer<double> degrees;  // the weighted degree of each node within the subgraph
  double weight = 0;       // the sum over the edges between them
  double density = 0;      // 2 * weight / nodes, the mean weighted degree
  double upper_bound = 0;  // of the density of any subgraph of this size, rounding aside
};

// Returns a dense subgraph of k >= 1 nodes, or of all nodes if there are fewer. The graph is simple and
// undirected: loops do not count, and only the heaviest of repeated and reversed edges does.
//
// `bilinear`: the k largest entries of combinations of the two leading eigenvectors of the adjacency matrix
// (Papailiopoulos, Mitliagkas, Dimakis, Caramanis: Finding dense subgraphs via low-rank bilinear
// optimization, 2014), each improved by truncated power steps. `greedy`: the last k nodes when the node of
// least degree is removed again and again (Asahiro et al.: Greedily finding a dense subgraph, 2000).
// `automatic`: the denser one of both. The same for any number of workers. `find_spectrum` does what
// leading_eigenvectors does.
using FindSpectrum = std::function<Spectrum(const Graph &graph, WorkerPool &pool, MemoryCounter &memory)>;
DenseSubgraph densest_subgraph(EdgeList &edges, uint32_t k, DensestMethod method, WorkerPool &pool,
                               MemoryCounter &memory,
                               const FindSpectrum &find_spectrum = leading_eigenvectors);

}  // namespace simjoin
