// Graphs: edges between 64-bit nodes as they come in, and adjacency lists over dense node numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "core/interner.hpp"
#include "core/memory.hpp"
#include "core/worker_pool.hpp"

namespace simjoin {

// Gives nodes numbers, 0, 1, ... in the order in which they are first seen.
class NodeNumbers {
 public:
  explicit NodeNumbers(MemoryCounter &memory) : memory_(memory) { release(); }

  uint32_t number_of(int64_t node);
  uint32_t count() const { return interner_->ids(); }

  // Returns the nodes in ascending order; where `rank_of` is given, it becomes the place of each number in
  // it.
  Buffer<int64_t> sorted(WorkerPool &pool, MemoryCounter &memory, Buffer<uint32_t> *rank_of) const;
  // Forgets everything.
  void release() { interner_.emplace(true, memory_); }

 private:
  MemoryCounter &memory_;
  std::optional<IntegerInterner> interner_;
};

// A directed edge between two numbered nodes.
struct Edge {
  uint32_t from;
  uint32_t to;
};

// The edges of a graph as they came in, repeated ones and loops included.
class EdgeList {
 public:
  explicit EdgeList(MemoryCounter &memory) : numbers_(memory), edges_(memory), weights_(memory) {}

  // Adds a node, which may have no edge.
  void add_node(int64_t node) { numbers_.number_of(node); }
  void add_edge(int64_t from, int64_t to);
  // The edges of one list have either all a weight or none. Throws Error invalid_argument where the weight is
  // negative or not finite.
  void add_edge(int64_t from, int64_t to, double weight);

  NodeNumbers &numbers() { return numbers_; }
  size_t size() const { return edges_.size(); }
  bool weighted() const { return !weights_.empty(); }
  const Edge &edge(size_t i) const { return edges_[i]; }
  double weight(size_t i) const { return weighted() ? weights_[i] : 1.0; }
  void release();

 private:
  NodeNumbers numbers_;
  Buffer<Edge> edges_;
  Buffer<double> weights_;
};

// What becomes of edges in adjacency lists.
enum class EdgeUse : uint8_t {
  directed,    // each edge is in its source's list, repeated ones repeatedly
  undirected,  // each edge is in both lists, a loop in one, repeated ones repeatedly
  simple,      // undirected; loops are left out, of repeated and reversed edges the heaviest is kept
};

// A graph whose nodes are numbered by ascending id: neighbors in ascending order, so that results depend on
// neither the order of the edges nor the threads. Edges of weight zero are left out; their nodes are not.
struct Graph {
  explicit Graph(MemoryCounter &memory) : nodes(memory), offsets(memory), targets(memory), weights(memory) {}

  uint32_t node_count() const { return static_cast<uint32_t>(nodes.size()); }
  bool weighted() const { return is_weighted; }
  size_t begin(uint32_t node) const { return offsets[node]; }
  size_t end(uint32_t node) const { return offsets[node + 1]; }
  double weight(size_t i) const { return is_weighted ? weights[i] : 1.0; }

  Buffer<int64_t> nodes;     // the id of each node
  Buffer<uint64_t> offsets;  // where each node's list begins; one more than there are nodes
  Buffer<uint32_t> targets;
  Buffer<double> weights;  // empty where the edges have none
  bool is_weighted = false;
};

// Returns the graph of the edges, which are released.
Graph build_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory);

// Calls body(begin, end) for consecutive ranges of [0, count), in parallel; the ranges do not depend on the
// number of workers.
template <typename Body>
void for_ranges(WorkerPool &pool, size_t count, size_t range, Body &&body) {
  pool.parallel((count + range - 1) / range,
                [&](int, size_t i) { body(i * range, std::min(count, (i + 1) * range)); });
}

// Returns the sum of value(i) over [0, count), the same for any number of workers.
template <typename Value>
double parallel_sum(WorkerPool &pool, size_t count, MemoryCounter &memory, Value &&value) {
  constexpr size_t range = size_t{1} << 14;
  Buffer<double> parts(memory, (count + range - 1) / range);
  for_ranges(pool, count, range, [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += value(i);
    parts[begin / range] = sum;
  });
  double sum = 0;
  for (double part : parts) sum += part;
  return sum;
}

}  // namespace simjoin
