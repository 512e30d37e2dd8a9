// Connected components of a graph whose edges stream in: nothing is kept of an edge but what it joins.
#pragma once

#include <cstdint>

#include "core/graph.hpp"
#include "core/memory.hpp"

namespace simjoin {

// Disjoint sets of numbers: union by the smaller number, with path halving.
class DisjointSets {
 public:
  explicit DisjointSets(MemoryCounter &memory) : parents_(memory) {}

  // Makes `count` numbers, each new one in a set of its own.
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
  uint32_t count() const { return static_cast<uint32_t>(parents_.size()); }

 private:
  Buffer<uint32_t> parents_;
};

// The nodes in ascending order, and beside each the smallest node of its component.
struct Components {
  explicit Components(MemoryCounter &memory) : nodes(memory), components(memory) {}

  Buffer<int64_t> nodes;
  Buffer<int64_t> components;
};

// Takes edges in any order, and once all are there gives the components. Uses memory for the nodes only.
class ComponentFinder {
 public:
  explicit ComponentFinder(MemoryCounter &memory) : memory_(memory), numbers_(memory), sets_(memory) {}

  void add_node(int64_t node) { sets_.grow(number_of(node) + 1); }
  void add_edge(int64_t a, int64_t b);
  Components components(WorkerPool &pool);

 private:
  uint32_t number_of(int64_t node) { return numbers_.number_of(node); }

  MemoryCounter &memory_;
  NodeNumbers numbers_;
  DisjointSets sets_;
};

}  // namespace simjoin
