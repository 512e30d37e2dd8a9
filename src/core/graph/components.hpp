// Connected components of a graph whose edges stream in. Only the connections that edges make are kept.
#pragma once

#include <cstdint>

#include "core/base/memory.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/node_numbers.hpp"

namespace simjoin {

// Disjoint sets of numbers, by union by the smaller number with path halving.
class DisjointSets {
 public:
  explicit DisjointSets(MemoryCounter &memory) : parents_(memory) {}

  // Adds numbers up to `count` in all, each in a set of its own.
  void grow(uint32_t count);
  // Returns the smallest number of the set.
  uint32_t find(uint32_t number) {
    while (parents_[number] != number) {
      parents_[number] = parents_[parents_[number]];
      number = parents_[number];
    }
    return number;
  }
  void unite(uint32_t a, uint32_t b);
  // Prefetches the memory that find() will look at first.
  void prefetch(uint32_t number) const { __builtin_prefetch(&parents_[number]); }
  uint32_t count() const { return static_cast<uint32_t>(parents_.size()); }

 private:
  Buffer<uint32_t> parents_;
};

// The nodes in ascending order, and for each the smallest node of its component.
struct Components {
  explicit Components(MemoryCounter &memory) : nodes(memory), components(memory) {}

  Buffer<int64_t> nodes;
  Buffer<int64_t> components;
};

// Takes edges in any order and then gives the components. Uses memory for the nodes and for the edges that
// its caller lets it hold back.
class ComponentFinder {
 public:
  explicit ComponentFinder(MemoryCounter &memory)
      : memory_(memory), held_(memory), numbers_(memory), sets_(memory) {}

  // From now on up to `edges` edges are held back, so that all of them can be processed together. The caller
  // that adds edges then calls absorb().
  void hold_back(size_t edges) { most_held_ = std::max(edges, most_unasked); }
  bool full() const { return held_.size() >= most_held_; }
  const EdgeList &held() const { return held_; }

  void add_node(int64_t node) { add_edge(node, node); }
  void add_edge(int64_t a, int64_t b) {
    held_.add_edge(a, b);
    if (held_.size() >= most_unasked && most_held_ == most_unasked) absorb(never_);
  }
  // Unites what the edges held back connect.
  void absorb(const StopFlag &stop);
  // The same, with the components of these edges known.
  void absorb(const Components &components, const StopFlag &stop);
  // Returns whether all edges so far are held back.
  bool holds_all() const { return numbers_.count() == 0; }
  Components components(WorkerPool &pool);

 private:
  static constexpr size_t most_unasked = 1024;  // edges whose nodes are numbered together, within the cache

  void absorb(const int64_t *ends, size_t edges);

  MemoryCounter &memory_;
  const StopFlag never_;
  size_t most_held_ = most_unasked;
  EdgeList held_;
  NodeNumbers numbers_;
  DisjointSets sets_;
};

}  // namespace simjoin
