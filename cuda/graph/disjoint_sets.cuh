// Disjoint sets that all threads of a kernel unite. Each node points to a smaller node of its set, or to
// itself.
#pragma once

#include <cstdint>

namespace simjoin::gpu {

inline __device__ uint32_t parent_of(const uint32_t *parents, uint32_t node) {
  return *static_cast<const volatile uint32_t *>(parents + node);
}

// Returns the representative of the node's set, and halves the path to it. Parents are smaller than their
// children, and other threads only replace a parent by an ancestor.
inline __device__ uint32_t find_set(uint32_t *parents, uint32_t node) {
  uint32_t parent = parent_of(parents, node);
  while (parent != node) {
    const uint32_t grandparent = parent_of(parents, parent);
    if (grandparent == parent) return parent;
    parents[node] = grandparent;
    node = grandparent;
    parent = parent_of(parents, node);
  }
  return node;
}

// Unites the sets of two nodes: the larger representative gets the smaller one as its parent. The method is
// that of ECL-CC (Jaiganesh and Burtscher: A high-performance connected components implementation for GPUs,
// 2018).
inline __device__ void unite_sets(uint32_t *parents, uint32_t a, uint32_t b) {
  if (a == b) return;
  a = find_set(parents, a);
  b = find_set(parents, b);
  while (a != b) {
    const uint32_t larger = max(a, b), smaller = min(a, b);
    const uint32_t found = atomicCAS(&parents[larger], larger, smaller);
    if (found == larger) break;
    a = find_set(parents, found);
    b = find_set(parents, smaller);
  }
}

}  // namespace simjoin::gpu
