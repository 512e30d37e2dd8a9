// Dense subgraphs against all subsets of small graphs, and planted ones in larger graphs.
#include "core/graph/densest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/graph/random.hpp"
#include "unit/graphs.hpp"

namespace simjoin::test {
namespace {

using Weights = std::map<std::pair<int64_t, int64_t>, double>;

// The heaviest edge between two different nodes, smaller node first.
Weights simple_weights(const WeightedEdges &edges) {
  Weights weights;
  for (const auto &edge : edges) {
    if (edge.from == edge.to) continue;
    double &weight = weights[std::minmax(edge.from, edge.to)];
    weight = std::max(weight, edge.weight);
  }
  return weights;
}

double weight_within(const Weights &weights, const std::set<int64_t> &nodes) {
  double sum = 0;
  for (const auto &[ends, weight] : weights)
    if (nodes.contains(ends.first) && nodes.contains(ends.second)) sum += weight;
  return sum;
}

// Returns the density of the densest subgraph of k nodes, found among all of them.
double brute_force(const Weights &weights, const std::vector<int64_t> &nodes, size_t size) {
  double best = 0;
  for (uint32_t subset = 0; subset < 1u << nodes.size(); ++subset) {
    if (static_cast<size_t>(std::popcount(subset)) != size) continue;
    std::set<int64_t> chosen;
    for (size_t i = 0; i < nodes.size(); ++i)
      if ((subset >> i & 1) != 0) chosen.insert(nodes[i]);
    best = std::max(best, 2 * weight_within(weights, chosen) / static_cast<double>(size));
  }
  return best;
}

DenseSubgraph find(const WeightedEdges &edges, bool weighted, uint32_t k, DensestMethod method, int threads,
                   MemoryCounter &memory) {
  StopFlag stop;
  WorkerPool pool(threads, stop);
  EdgeList list(memory);
  add_edges(list, edges, weighted);
  return densest_subgraph(list, k, method, pool, memory);
}

RC_GTEST_PROP(Densest, LiesWithinItsBoundOfTheBest, ()) {
  WeightedEdges edges = any_edges(9, 30);
  const bool weighted = *rc::gen::arbitrary<bool>();
  if (!weighted)
    for (auto &edge : edges) edge.weight = 1;
  const auto k = *rc::gen::inRange<uint32_t>(1, 11);
  const auto method =
      *rc::gen::element(DensestMethod::automatic, DensestMethod::bilinear, DensestMethod::greedy);
  MemoryCounter memory;
  const DenseSubgraph found = find(edges, weighted, k, method, *rc::gen::inRange(1, 3), memory);
  std::set<int64_t> all;
  for (const auto &edge : edges) all.insert({edge.from, edge.to});
  const size_t size = std::min<size_t>(k, all.size());
  RC_ASSERT(found.nodes.size() == size);
  if (size == 0) return;
  const std::set<int64_t> nodes(found.nodes.begin(), found.nodes.end());
  RC_ASSERT(nodes.size() == size);
  RC_ASSERT(std::includes(all.begin(), all.end(), nodes.begin(), nodes.end()));
  const Weights weights = simple_weights(edges);
  RC_ASSERT(std::abs(found.weight - weight_within(weights, nodes)) < 1e-9);
  RC_ASSERT(std::abs(found.density - 2 * found.weight / static_cast<double>(size)) < 1e-9);
  for (size_t i = 0; i < size; ++i) {
    std::set<int64_t> others = nodes;
    others.erase(found.nodes[i]);
    RC_ASSERT(std::abs(found.degrees[i] - (found.weight - weight_within(weights, others))) < 1e-9);
  }
  const double best = brute_force(weights, {all.begin(), all.end()}, size);
  RC_ASSERT(found.density <= best + 1e-9);
  RC_ASSERT(best <= found.upper_bound * (1 + 1e-9));
  RC_ASSERT(found.density <= found.upper_bound);
  if (method == DensestMethod::automatic) RC_ASSERT(found.density >= 0.6 * best);
}

// A sparse random graph with a clique in it.
WeightedEdges planted_clique(int64_t nodes, int64_t edges, int64_t clique) {
  WeightedEdges result;
  WalkRandom random(3, 1);
  const auto any = [&] { return static_cast<int64_t>(random.below(static_cast<uint64_t>(nodes))) * 7; };
  for (int64_t i = 0; i < edges; ++i) {
    const int64_t from = any();
    result.push_back({from, any(), 1});
  }
  for (int64_t i = 0; i < clique; ++i)
    for (int64_t j = 0; j < i; ++j) result.push_back({i * 70, j * 70, 1});
  return result;
}

TEST(Densest, FindsAPlantedClique) {
  constexpr int64_t clique = 25;
  const WeightedEdges edges = planted_clique(2000, 6000, clique);
  for (const auto method : {DensestMethod::bilinear, DensestMethod::greedy, DensestMethod::automatic}) {
    MemoryCounter memory;
    const DenseSubgraph found = find(edges, false, clique, method, 2, memory);
    EXPECT_EQ(found.density, clique - 1);
    EXPECT_EQ(found.upper_bound, clique - 1);
    ASSERT_EQ(found.nodes.size(), static_cast<size_t>(clique));
    for (int64_t i = 0; i < clique; ++i) EXPECT_EQ(found.nodes[static_cast<size_t>(i)], i * 70);
  }
}

TEST(Densest, DoesNotDependOnThreadsOrOrder) {
  WeightedEdges edges = planted_clique(500, 3000, 4);
  for (auto &edge : edges) edge.weight = 1.0 / static_cast<double>(1 + (edge.from * 31 + edge.to) % 17);
  std::vector<std::vector<int64_t>> results;
  std::vector<double> bounds;
  for (const int threads : {1, 3}) {
    std::reverse(edges.begin(), edges.end());
    MemoryCounter memory;
    const DenseSubgraph found = find(edges, true, 40, DensestMethod::automatic, threads, memory);
    results.emplace_back(found.nodes.begin(), found.nodes.end());
    bounds.push_back(found.upper_bound);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(bounds[0], bounds[1]);
}

TEST(Densest, BoundsAreTightWhereTheyCanBe) {
  MemoryCounter memory;
  WeightedEdges cycle, star;
  for (int64_t i = 0; i < 20; ++i) {
    cycle.push_back({i, (i + 1) % 20, 1});
    star.push_back({0, i + 1, 1});
  }
  EXPECT_NEAR(find(cycle, false, 20, DensestMethod::automatic, 1, memory).upper_bound, 2.0, 1e-9);
  EXPECT_NEAR(find(star, false, 5, DensestMethod::automatic, 1, memory).upper_bound, 8.0 / 5, 1e-9);
  EXPECT_EQ(find(star, false, 1, DensestMethod::automatic, 1, memory).upper_bound, 0.0);
}

TEST(Densest, EachOfTheBoundsIsTheLeastSomewhere) {
  MemoryCounter memory;
  WeightedEdges path, cliques;
  for (int64_t i = 0; i < 100; ++i) path.push_back({i, i + 1, 1});
  EXPECT_NEAR(find(path, false, 10, DensestMethod::greedy, 1, memory).upper_bound, 1.8, 1e-9);  // peeling's
  // Four cliques; each node of the first has five neighbors of its own; and 500 edges of their own, so that
  // the graph is too large for the rank-one bound.
  for (int64_t clique = 0; clique < 4; ++clique)
    for (int64_t i = 0; i < 10; ++i)
      for (int64_t j = 0; j < i; ++j) cliques.push_back({clique * 10 + i, clique * 10 + j, 1});
  for (int64_t i = 0; i < 50; ++i) cliques.push_back({i / 5, 100 + i, 1});
  for (int64_t i = 0; i < 500; ++i) cliques.push_back({1000 + 2 * i, 1001 + 2 * i, 1});
  const double radius = (9 + std::sqrt(81 + 4 * 5)) / 2;
  EXPECT_NEAR(find(cliques, false, 20, DensestMethod::automatic, 1, memory).upper_bound, radius, 1e-3);
  // A random graph of 500 nodes, each pair an edge with the probability 0.05: the rank-one bound, where the
  // others are 20 and more.
  WeightedEdges random_edges;
  WalkRandom random(5, 1);
  for (int64_t i = 0; i < 500; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (random.fraction() < 0.05) random_edges.push_back({i, j, 1});
  const DenseSubgraph found = find(random_edges, false, 25, DensestMethod::automatic, 2, memory);
  EXPECT_LT(found.upper_bound, 13);
  EXPECT_GT(found.upper_bound, found.density);
}

TEST(Densest, TakesLargeWeightsAndRefusesSumsThatOverflow) {
  MemoryCounter memory;
  const WeightedEdges large = {{1, 2, 1e300}, {1, 3, 1e300}, {1, 4, 1e-300}};
  EXPECT_DOUBLE_EQ(find(large, true, 3, DensestMethod::automatic, 1, memory).weight, 2e300);
  const WeightedEdges huge = {{1, 2, 1e308}, {1, 3, 1e308}, {1, 4, 1e308}};
  EXPECT_THROW(find(huge, true, 4, DensestMethod::automatic, 1, memory), Error);
}

}  // namespace
}  // namespace simjoin::test
