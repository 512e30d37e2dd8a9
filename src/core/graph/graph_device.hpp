// Computations over graphs on a GPU: the interface between the core, which decides, and the device layer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/worker_pool.hpp"
#include "core/graph/components.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/pagerank.hpp"
#include "core/graph/spectrum.hpp"

namespace simjoin {

// The figures of a function, in milliseconds by the device's clock.
struct GraphFigures {
  double upload_ms = 0;   // edges to the device, their nodes ranked
  double lists_ms = 0;    // adjacency lists
  double compute_ms = 0;  // the function itself
  double download_ms = 0;
  uint64_t steps = 0;  // visits of walks, or steps of power iteration
  size_t device_memory_peak = 0;
};

// The host's side of a computation on a device.
struct HostSide {
  WorkerPool &pool;
  MemoryCounter &memory;            // counts the memory of results
  size_t gpu_memory_limit = 0;      // bytes of device memory; 0 = most of the free memory
  GraphFigures *figures = nullptr;  // gets the figures, of a device in this process; may be null
};

// Functions return the same as those of the CPU, to the last bit, and leave the edges as they are. They look
// at the pool's stop flag at least every few tens of milliseconds. Any thread may call them. Failures of the
// device are Errors of kind device_failure; too little device memory is limit_exceeded.
class GraphDevice {
 public:
  virtual ~GraphDevice() = default;

  virtual Components components(const EdgeList &edges, const HostSide &host) = 0;
  virtual Ranks pagerank_power(const EdgeList &edges, EdgeUse use, double damping, double tolerance,
                               const HostSide &host) = 0;
  virtual Ranks pagerank_random_walk(const EdgeList &edges, EdgeUse use, double damping, uint32_t coupons,
                                     uint64_t seed, const HostSide &host) = 0;
  virtual Spectrum leading_eigenvectors(const Graph &graph, const HostSide &host) = 0;
};

}  // namespace simjoin
