// Times the graph functions on R-MAT graphs: graph_bench [SCALE [EDGES-A-NODE [THREADS]]].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/random.hpp"
#include "core/graph_components.hpp"
#include "core/graph_densest.hpp"
#include "core/graph_pagerank.hpp"

namespace simjoin::bench {
namespace {

// The edges of an R-MAT graph with 2^scale nodes (Chakrabarti, Zhan and Faloutsos 2004), with the
// probabilities of the Graph 500 benchmark.
std::vector<Edge> rmat_edges(int scale, size_t count) {
  Random random(1);
  std::vector<Edge> edges(count, Edge{0, 0});
  for (Edge &edge : edges) {
    for (int level = 0; level < scale; ++level) {
      const double draw = random.fraction();
      const bool right = draw >= 0.57 && (draw < 0.76 || draw >= 0.95), lower = draw >= 0.76;
      edge.from = edge.from << 1 | (lower ? 1u : 0u);
      edge.to = edge.to << 1 | (right ? 1u : 0u);
    }
  }
  return edges;
}

// Runs the function once and prints its time and memory; the text is what it returns.
void measure(const char *name, int threads,
             const std::function<std::string(WorkerPool &, MemoryCounter &)> &run) {
  StopFlag stop;
  WorkerPool pool(threads, stop);
  MemoryCounter memory;
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = run(pool, memory);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  std::printf("%-16s %10.0f ms %8.0f MiB  %s\n", name, time.count(),
              static_cast<double>(memory.peak()) / (1 << 20), text.c_str());
  std::fflush(stdout);
}

void fill(EdgeList &list, const std::vector<Edge> &edges) {
  for (const Edge &edge : edges) list.add_edge(edge.from, edge.to);
}

std::string components(const std::vector<Edge> &edges, WorkerPool &pool, MemoryCounter &memory) {
  ComponentFinder finder(memory);
  for (const Edge &edge : edges) finder.add_edge(edge.from, edge.to);
  const Components found = finder.components(pool);
  size_t count = 0;
  for (size_t i = 0; i < found.nodes.size(); ++i) count += found.nodes[i] == found.components[i];
  return std::to_string(found.nodes.size()) + " nodes, " + std::to_string(count) + " components";
}

std::string describe(const Ranks &ranks) {
  char text[80];
  std::snprintf(text, sizeof text, "largest rank %.8f",
                *std::max_element(ranks.ranks.begin(), ranks.ranks.end()));
  return text;
}

void run_all(const std::vector<Edge> &edges, int threads) {
  measure("components", threads,
          [&](WorkerPool &pool, MemoryCounter &memory) { return components(edges, pool, memory); });
  measure("pagerank power", threads, [&](WorkerPool &pool, MemoryCounter &memory) {
    EdgeList list(memory);
    fill(list, edges);
    return describe(pagerank_power(list, EdgeUse::directed, 0.85, 1e-9, pool, memory));
  });
  measure("random walk", threads, [&](WorkerPool &pool, MemoryCounter &memory) {
    EdgeList list(memory);
    fill(list, edges);
    return describe(pagerank_random_walk(list, EdgeUse::directed, 0.85, 10, 1, pool, memory));
  });
  for (const uint32_t k : {10u, 100u, 1000u}) {
    for (const auto method : {DensestMethod::bilinear, DensestMethod::greedy}) {
      const std::string name =
          std::string(densest_method_names[static_cast<int>(method)]) + " " + std::to_string(k);
      measure(name.c_str(), threads, [&](WorkerPool &pool, MemoryCounter &memory) {
        EdgeList list(memory);
        fill(list, edges);
        const DenseSubgraph found = densest_subgraph(list, k, method, pool, memory);
        return "density " + std::to_string(found.density) + " of at most " +
               std::to_string(found.upper_bound);
      });
    }
  }
}

}  // namespace
}  // namespace simjoin::bench

int main(int argc, char **argv) {
  const int scale = argc > 1 ? std::atoi(argv[1]) : 16;
  const double edges_a_node = argc > 2 ? std::atof(argv[2]) : 16;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  if (scale < 1 || scale > 31 || edges_a_node <= 0 || threads < 1) {
    std::fprintf(stderr, "usage: %s [SCALE [EDGES-A-NODE [THREADS]]]\n", argv[0]);
    return 2;
  }
  const auto count = static_cast<size_t>(edges_a_node * static_cast<double>(size_t{1} << scale));
  std::printf("R-MAT, 2^%d nodes, %zu edges, %d threads\n", scale, count, threads);
  simjoin::bench::run_all(simjoin::bench::rmat_edges(scale, count), threads);
  return 0;
}
