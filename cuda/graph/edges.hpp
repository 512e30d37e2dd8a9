// Graphs in device memory: edges between ranks of nodes, and adjacency lists.
#pragma once

#include <cstdint>

#include "core/graph/graph.hpp"
#include "cuda/base/device.hpp"
#include "cuda/graph/transfer.hpp"

namespace simjoin::gpu {

// Edges between ranks, `from` in the upper half of each; the nodes in ascending order.
struct RankedEdges {
  DeviceBuffer<uint64_t> edges;  // behind them a loop for each node that was added by itself
  size_t count = 0;              // of the edges proper
  DeviceBuffer<int64_t> nodes;
};

// Uploads the edges and ranks their nodes.
RankedEdges upload_edges(Device &device, Staging &staging, const EdgeList &edges, const StopFlag &stop);

// Adjacency lists: those of core/graph/graph.hpp.
struct DeviceGraph {
  uint32_t nodes = 0;
  DeviceBuffer<uint64_t> offsets;
  DeviceBuffer<uint32_t> targets;
  DeviceBuffer<double> weights;  // empty where the edges have none

  bool weighted() const { return !weights.empty(); }
  size_t entries() const { return targets.size(); }
};

// Entries of adjacency lists in order, `from` in the upper half of each; weights as bits.
struct Entries {
  DeviceBuffer<uint64_t> entries;
  DeviceBuffer<uint64_t> weights;  // empty where the edges have none
  uint32_t nodes = 0;
};

// Returns the entries that the edges give, directed or in both directions; the edges are used up.
Entries sorted_entries(Device &device, Staging &staging, RankedEdges &ranked, const EdgeList &edges,
                       bool both_ways, const StopFlag &stop);
// Returns the lists of the entries.
DeviceGraph lists_of(Device &device, const Entries &entries);
// Turns every entry around and sorts them; weights are those of `graph`, made of the entries.
void turn_around(Device &device, Entries &entries, const DeviceGraph &graph);

}  // namespace simjoin::gpu
