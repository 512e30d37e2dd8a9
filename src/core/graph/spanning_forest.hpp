// A spanning forest of a graph whose edges stream in: those that connect two components.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/graph/components.hpp"
#include "core/graph/node_numbers.hpp"

namespace simjoin {

// Keeps at most one edge less than there are nodes. The graph of these edges has the same components as the
// one of all edges. Which edges are kept depends on their order.
class SpanningForest {
 public:
  explicit SpanningForest(MemoryCounter &memory) : numbers_(memory), sets_(memory), edges_(memory) {}

  // Throws Error limit_exceeded at 2^32 - 1 nodes.
  void add_edge(int64_t a, int64_t b) {
    if (a == b) return;
    const uint32_t first = numbers_.number_of(a), second = numbers_.number_of(b);
    sets_.grow(numbers_.count());
    if (sets_.find(first) == sets_.find(second)) return;
    sets_.unite(first, second);
    edges_.push_back({a, b});
  }

  struct Edge {
    int64_t from;
    int64_t to;
  };
  const Buffer<Edge> &edges() const { return edges_; }

 private:
  NodeNumbers numbers_;
  DisjointSets sets_;
  Buffer<Edge> edges_;
};

}  // namespace simjoin
