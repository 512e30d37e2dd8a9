// Graphs: edges between 64-bit nodes as they come in, and adjacency lists over dense node numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"

namespace simjoin {

// A directed edge between two numbered nodes.
struct Edge {
  uint32_t from;
  uint32_t to;
};

// The edges of a graph as they come in, with repeated edges and loops.
class EdgeList {
 public:
  explicit EdgeList(MemoryCounter &memory) : ends_(memory), lone_(memory), weights_(memory) {}

  // Adds a node, which may have no edge.
  void add_node(int64_t node) {
    include(node);
    lone_.push_back(node);
  }
  void add_edge(int64_t from, int64_t to) {
    include(from);
    include(to);
    int64_t *ends = ends_.extend(2);
    ends[0] = from;
    ends[1] = to;
  }
  // Edges of one list have all a weight or none. Throws Error invalid_argument if the weight is negative or
  // not finite.
  void add_edge(int64_t from, int64_t to, double weight);

  // Adds `count` edges between nodes of [least, greatest]. Returns where to put both ends of each.
  int64_t *add_edges(size_t count, int64_t least, int64_t greatest) {
    include(least);
    include(greatest);
    return ends_.extend(2 * count);
  }

  size_t size() const { return ends_.size() / 2; }
  bool weighted() const { return !weights_.empty(); }
  double weight(size_t i) const { return weighted() ? weights_[i] : 1.0; }
  // Both nodes of each edge; the added nodes; the bounds of all nodes, if there are any.
  const Buffer<int64_t> &ends() const { return ends_; }
  const Buffer<int64_t> &lone() const { return lone_; }
  int64_t least() const { return least_; }
  int64_t greatest() const { return greatest_; }

  // Replaces the nodes of edges by their ranks among all nodes. Returns the nodes in ascending order.
  Buffer<int64_t> rank_nodes(WorkerPool &pool, MemoryCounter &memory);
  // The edge between ranks.
  Edge ranked(size_t i) const {
    return {static_cast<uint32_t>(ends_[2 * i]), static_cast<uint32_t>(ends_[2 * i + 1])};
  }
  void clear();
  void release();

 private:
  void include(int64_t node) {
    least_ = std::min(least_, node);
    greatest_ = std::max(greatest_, node);
  }

  Buffer<int64_t> ends_;
  Buffer<int64_t> lone_;
  Buffer<double> weights_;
  int64_t least_ = INT64_MAX;
  int64_t greatest_ = INT64_MIN;
};

// The way in which edges get into adjacency lists.
enum class EdgeUse : uint8_t {
  directed,    // each edge is in its source's list, as often as it is repeated
  undirected,  // each edge is in both lists, a loop in one, as often as it is repeated
  simple,      // undirected, without loops; only the heaviest of repeated and reversed edges is kept
};

// A graph whose nodes are numbered by ascending id. Neighbors are in ascending order, so results depend
// neither on the order of the edges nor on the threads. Edges of weight zero are left out, their nodes are
// not.
struct Graph {
  explicit Graph(MemoryCounter &memory) : nodes(memory), offsets(memory), targets(memory), weights(memory) {}

  uint32_t node_count() const { return static_cast<uint32_t>(nodes.size()); }
  bool weighted() const { return is_weighted; }
  size_t begin(uint32_t node) const { return offsets[node]; }
  size_t end(uint32_t node) const { return offsets[node + 1]; }
  double weight(size_t i) const { return is_weighted ? weights[i] : 1.0; }

  Buffer<int64_t> nodes;     // the id of each node
  Buffer<uint64_t> offsets;  // the begin of each node's list; one more entry than there are nodes
  Buffer<uint32_t> targets;
  Buffer<double> weights;  // empty if the edges have none
  bool is_weighted = false;
};

// Returns the graph with every edge reversed. The original keeps its nodes.
Graph transposed(const Graph &graph, WorkerPool &pool, MemoryCounter &memory);

// Returns the graph of the edges, which are released.
Graph build_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory);
// Returns the same as build_graph, transposed.
Graph build_reversed_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
