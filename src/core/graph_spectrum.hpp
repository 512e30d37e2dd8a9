// The two leading eigenvectors of a graph's adjacency matrix.
#pragma once

#include "core/graph.hpp"

namespace simjoin {

struct Spectrum {
  explicit Spectrum(MemoryCounter &memory) : first(memory), second(memory) {}

  Buffer<double> first;  // estimates of the eigenvectors of the two largest eigenvalues, of length 1
  Buffer<double> second;
  double radius_bound = 0;  // no eigenvalue is larger, rounding aside
};

// Returns the spectrum of an undirected graph with at least one node. The same for any number of workers.
Spectrum leading_eigenvectors(const Graph &graph, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
