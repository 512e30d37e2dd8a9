#include "core/graph/graph_work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/costs.hpp"
#include "core/device/gpu.hpp"
#include "core/device/gpu_attempt.hpp"

namespace simjoin {
namespace {

// About half of the steps of power iteration that might be necessary are necessary.
constexpr double share_of_steps = 0.5;
constexpr double products_per_spectrum = 3.0 * spectrum_iterations;
constexpr size_t bytes_per_edge = 2 * sizeof(int64_t);
// The edges that are held back before a GPU is asked for: fewer are never worth a GPU.
constexpr size_t held_first = size_t{1} << 20;

HostSide host_side(const GraphWork &work, WorkerPool &pool, MemoryCounter &memory) {
  return {pool, memory, work.gpu_memory_limit};
}

// Returns whether a GPU can be used, at any costs. Throws device_failure if it cannot and is demanded.
bool can_use_gpu(GraphWork &work) {
  return work.attempt.choose(std::numeric_limits<double>::infinity(), 0);
}

double milliseconds(double count, double nanoseconds) {
  return count * nanoseconds * 1e-6;
}

// Returns the sums or steps of a PageRank, beside its adjacency lists.
double pagerank_operations(const EdgeList &edges, const PageRankSpec &spec) {
  const auto entries = static_cast<double>(edges.size());
  if (!spec.random_walk)
    return entries * share_of_steps * static_cast<double>(most_power_steps(spec.damping, spec.tolerance));
  const double nodes =
      std::min(entries, static_cast<double>(edges.greatest()) - static_cast<double>(edges.least()));
  return nodes * spec.coupons / (1 - spec.damping);
}

}  // namespace

ComponentWork::ComponentWork(GraphWork &work, size_t most_held, MemoryCounter &memory)
    : work_(work),
      memory_(memory),
      most_held_(most_held / bytes_per_edge),
      holding_(work.attempt.device() == Device::gpu ||
               (work.attempt.device() == Device::automatic && no_gpu_reason().empty())),
      finder_(memory) {
  if (holding_) finder_.hold_back(std::min(held_first, most_held_));
}

template <class Gpu, class Cpu>
auto ComponentWork::on_device(Gpu &&gpu, Cpu &&cpu) {
  const auto edges = static_cast<double>(finder_.held().size());
  work_.attempt.choose(milliseconds(edges, costs::graph::cpu_component),
                       costs::graph::gpu_call_ms + milliseconds(edges, costs::graph::gpu_edge));
  return work_.attempt.run(gpu, cpu);
}

void ComponentWork::make_room(WorkerPool &pool) {
  if (!can_use_gpu(work_)) {
    holding_ = false;
    finder_.hold_back(0);
  } else if (finder_.held().size() < most_held_) {
    return finder_.hold_back(most_held_);
  }
  on_device(
      [&](GpuBackend &gpu) {
        finder_.absorb(gpu.graphs()->components(finder_.held(), host_side(work_, pool, memory_)),
                       pool.stop());
      },
      [&] { finder_.absorb(pool.stop()); });
}

Components ComponentWork::components(WorkerPool &pool) {
  if (!finder_.holds_all()) {
    if (holding_) make_room(pool);
    return finder_.components(pool);
  }
  return on_device(
      [&](GpuBackend &gpu) {
        return gpu.graphs()->components(finder_.held(), host_side(work_, pool, memory_));
      },
      [&] { return finder_.components(pool); });
}

Ranks pagerank(EdgeList &edges, const PageRankSpec &spec, GraphWork &work, WorkerPool &pool,
               MemoryCounter &memory) {
  const auto count = static_cast<double>(edges.size());
  const double operations = pagerank_operations(edges, spec);
  const double cpu_ms =
      milliseconds(count, costs::graph::cpu_build) +
      milliseconds(operations, spec.random_walk ? costs::graph::cpu_step : costs::graph::cpu_sum);
  const double gpu_ms =
      costs::graph::gpu_call_ms + milliseconds(count, costs::graph::gpu_edge) +
      milliseconds(operations, spec.random_walk ? costs::graph::gpu_step : costs::graph::gpu_sum);
  work.attempt.choose(cpu_ms / pool.workers(), gpu_ms);
  return work.attempt.run(
      [&](GpuBackend &gpu) {
        const HostSide host = host_side(work, pool, memory);
        return spec.random_walk
                   ? gpu.graphs()->pagerank_random_walk(edges, spec.use, spec.damping, spec.coupons,
                                                        spec.seed, host)
                   : gpu.graphs()->pagerank_power(edges, spec.use, spec.damping, spec.tolerance, host);
      },
      [&] {
        return spec.random_walk ? pagerank_random_walk(edges, spec.use, spec.damping, spec.coupons, spec.seed,
                                                       pool, memory, &work.share_done)
                                : pagerank_power(edges, spec.use, spec.damping, spec.tolerance, pool, memory,
                                                 &work.share_done);
      });
}

DenseSubgraph densest_subgraph(EdgeList &edges, uint32_t k, DensestMethod method, GraphWork &work,
                               WorkerPool &pool, MemoryCounter &memory) {
  const auto find_spectrum = [&](const Graph &graph, WorkerPool &, MemoryCounter &) {
    const auto entries = static_cast<double>(graph.targets.size());
    const double operations = products_per_spectrum * entries;
    work.attempt.choose(milliseconds(operations, costs::graph::cpu_sum) / pool.workers(),
                        costs::graph::gpu_call_ms + milliseconds(entries, costs::graph::gpu_edge) +
                            milliseconds(operations, costs::graph::gpu_sum));
    return work.attempt.run(
        [&](GpuBackend &gpu) {
          return gpu.graphs()->leading_eigenvectors(graph, host_side(work, pool, memory));
        },
        [&] { return leading_eigenvectors(graph, pool, memory); });
  };
  return densest_subgraph(edges, k, method, pool, memory, find_spectrum);
}

}  // namespace simjoin
