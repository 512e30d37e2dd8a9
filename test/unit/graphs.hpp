// Random graphs for the tests.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "core/graph/graph.hpp"

namespace simjoin::test {

struct WeightedEdge {
  int64_t from;
  int64_t to;
  double weight;
};

using WeightedEdges = std::vector<WeightedEdge>;

// Returns up to `most` edges between `nodes` nodes, with some negative nodes. Among them are loops,
// repeated and reversed edges, and weights of zero.
inline WeightedEdges any_edges(int nodes, int most) {
  WeightedEdges edges;
  const int count = *rc::gen::inRange(0, most + 1);
  for (int i = 0; i < count; ++i) {
    const int64_t from = *rc::gen::inRange(-nodes / 2, nodes - nodes / 2);
    const int64_t to = *rc::gen::inRange(-nodes / 2, nodes - nodes / 2);
    edges.push_back({from, to, *rc::gen::inRange(0, 9) / 4.0});
  }
  return edges;
}

inline void add_edges(EdgeList &list, const WeightedEdges &edges, bool weighted) {
  for (const auto &edge : edges) {
    if (weighted)
      list.add_edge(edge.from, edge.to, edge.weight);
    else
      list.add_edge(edge.from, edge.to);
  }
}

}  // namespace simjoin::test
