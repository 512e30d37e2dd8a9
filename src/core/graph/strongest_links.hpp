// The pairs that hold groups together: of all ways to connect the same nodes, the one by the greatest
// weights.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/graph/graph.hpp"
#include "core/sort/pair_keys.hpp"

namespace simjoin {

// A component of two nodes or more, and the edge that it hangs on.
struct HangingComponent {
  uint32_t component;  // its smallest node
  uint32_t nodes;
  RankedPair weakest;  // of ranks, the smaller one first; its similarity is the weight
  uint32_t
      nodes_at_left;  // that are left with it if the weakest edge, and all that are no stronger, are gone
};

// A spanning forest of greatest weight. The smallest weight on its path between two nodes is the greatest one
// that any path between them has as its smallest (the bottleneck). Of equal weights, the smaller nodes come
// first, so the forest depends on the edges alone.
class StrongestLinks {
 public:
  // Takes the edges, each of which has a weight, and leaves their nodes as ranks.
  StrongestLinks(EdgeList &edges, WorkerPool &pool, MemoryCounter &memory);

  // Returns the nodes, ascending. Their places are their ranks.
  const Buffer<int64_t> &nodes() const { return nodes_; }
  // Returns the links of the path between two nodes, from the first one on; nothing where there is none.
  std::vector<RankedPair> path(int64_t from, int64_t to, MemoryCounter &memory) const;
  // Returns the components of two nodes or more, ascending.
  std::vector<HangingComponent> components(WorkerPool &pool, MemoryCounter &memory) const;

 private:
  Buffer<int64_t> nodes_;
  Buffer<RankedPair> links_;  // by descending weight
};

}  // namespace simjoin
