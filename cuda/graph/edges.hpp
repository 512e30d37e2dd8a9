// Graphs in device memory: edges between ranks of nodes, and adjacency lists.
#pragma once

#include <cstdint>

#include "core/graph/graph.hpp"
#include "cuda/base/device.hpp"
#include "cuda/graph/transfer.hpp"

namespace simjoin::gpu {

// Edges between ranks, with `from` in the upper half of a word. Nodes ascend.
struct RankedEdges {
  DeviceBuffer<uint64_t> edges;  // the edges, then a loop for each node that was added alone
  size_t count = 0;              // number of edges without the loops
  DeviceBuffer<int64_t> nodes;
};

// Uploads the edges and ranks their nodes.
RankedEdges upload_edges(Device &device, Staging &staging, const EdgeList &edges, const StopFlag &stop);

// Adjacency lists, as in core/graph/graph.hpp.
struct DeviceGraph {
  uint32_t nodes = 0;
  DeviceBuffer<uint64_t> offsets;
  DeviceBuffer<uint32_t> targets;
  DeviceBuffer<double> weights;  // empty if the edges have none

  bool weighted() const { return !weights.empty(); }
  size_t entries() const { return targets.size(); }
};

// Sorted entries of adjacency lists, with `from` in the upper half of a word. Weights are bits of doubles.
struct Entries {
  DeviceBuffer<uint64_t> entries;
  DeviceBuffer<uint64_t> weights;  // empty if the edges have none
  uint32_t nodes = 0;
};

// Returns the entries of the edges, directed or in both directions. The edges of `ranked` are freed.
Entries sorted_entries(Device &device, Staging &staging, RankedEdges &ranked, const EdgeList &edges,
                       bool both_ways, const StopFlag &stop);
// Returns the lists of the entries.
DeviceGraph lists_of(Device &device, const Entries &entries);
// Reverses all entries and sorts them. `graph` holds their lists, and so their weights.
void turn_around(Device &device, Entries &entries, const DeviceGraph &graph);

}  // namespace simjoin::gpu
