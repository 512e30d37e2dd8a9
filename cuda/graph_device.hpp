// Graph functions on one GPU, behind the interface of core/graph_device.hpp. No CUDA header is needed to use
// it.
#pragma once

#include "core/graph_device.hpp"

namespace simjoin {

// What the last function did: milliseconds by device events, from the first upload to the last download and
// of the computation between them.
struct GraphFigures {
  double upload_ms = 0;   // edges to the device, their nodes ranked
  double lists_ms = 0;    // adjacency lists
  double compute_ms = 0;  // the function itself
  double download_ms = 0;
  uint64_t steps = 0;  // of walks, in visits; of power iteration
  size_t device_memory_peak = 0;
};

GraphDevice &cuda_graphs();
const GraphFigures &cuda_graph_figures();

}  // namespace simjoin
