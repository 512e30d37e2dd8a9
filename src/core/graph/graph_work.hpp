// Computations over graphs on the device that suits them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device/gpu_attempt.hpp"
#include "core/graph/components.hpp"
#include "core/graph/densest.hpp"
#include "core/graph/graph_device.hpp"
#include "core/graph/pagerank.hpp"
#include "core/join.hpp"

namespace simjoin {

// The device and its limits; the answer does not depend on them.
struct GraphWork {
  explicit GraphWork(Device device, size_t memory_limit = 0)
      : attempt(device), gpu_memory_limit(memory_limit) {}

  GpuAttempt attempt;
  size_t gpu_memory_limit;  // bytes; 0 = most of the free memory
  // Of a PageRank on the CPU; otherwise it stays unknown. Any thread may look.
  std::atomic<double> share_done{unknown_share};
};

// How PageRank is computed; see pagerank_power and pagerank_random_walk.
struct PageRankSpec {
  EdgeUse use = EdgeUse::directed;
  double damping = 0.85;
  bool random_walk = false;
  double tolerance = 1e-9;
  uint32_t coupons = 10;
  uint64_t seed = 1;
};

// Finds the components of edges that stream in. If a GPU may be used, edges are held back for it.
class ComponentWork {
 public:
  // At most `most_held` bytes of edges are held back.
  ComponentWork(GraphWork &work, size_t most_held, MemoryCounter &memory);

  void add_node(int64_t node) { finder_.add_node(node); }
  void add_edge(int64_t a, int64_t b) { finder_.add_edge(a, b); }
  // Returns whether make_room(), which may take long, must be called before the next edge is added.
  bool full() const { return holding_ && finder_.full(); }
  void make_room(WorkerPool &pool);
  // Returns the components of all edges that were added.
  Components components(WorkerPool &pool);

 private:
  template <class Gpu, class Cpu>
  auto on_device(Gpu &&gpu, Cpu &&cpu);

  GraphWork &work_;
  MemoryCounter &memory_;
  const size_t most_held_;  // edges
  bool holding_;
  ComponentFinder finder_;
};

// Uses up the edges.
Ranks pagerank(EdgeList &edges, const PageRankSpec &spec, GraphWork &work, WorkerPool &pool,
               MemoryCounter &memory);
DenseSubgraph densest_subgraph(EdgeList &edges, uint32_t k, DensestMethod method, GraphWork &work,
                               WorkerPool &pool, MemoryCounter &memory);

}  // namespace simjoin
