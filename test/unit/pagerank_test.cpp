// PageRank against a dense reference.
#include "core/graph/pagerank.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "core/base/error.hpp"
#include "unit/graphs.hpp"

namespace simjoin::test {
namespace {

using RankOf = std::map<int64_t, double>;

// Solves the equations of PageRank by elimination over the dense matrix.
RankOf dense_pagerank(const WeightedEdges &edges, bool directed, double damping) {
  std::map<int64_t, size_t> place;
  for (const auto &edge : edges) place[edge.from], place[edge.to];
  size_t n = 0;
  for (auto &[node, index] : place) index = n++;
  std::vector<std::vector<double>> weight(n, std::vector<double>(n, 0.0));
  for (const auto &edge : edges) {
    weight[place[edge.from]][place[edge.to]] += edge.weight;
    if (!directed && edge.from != edge.to) weight[place[edge.to]][place[edge.from]] += edge.weight;
  }
  // (I - damping * P^T) x = (1 - damping) / n, where the rows of P are probabilities.
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0.0));
  for (size_t i = 0; i < n; ++i) {
    const double total = std::accumulate(weight[i].begin(), weight[i].end(), 0.0);
    for (size_t j = 0; j < n; ++j)
      a[j][i] -= damping * (total > 0 ? weight[i][j] / total : 1.0 / static_cast<double>(n));
    a[i][i] += 1;
    a[i][n] = (1 - damping) / static_cast<double>(n);
  }
  for (size_t i = 0; i < n; ++i) {  // diagonally dominant by columns: no pivoting needed
    for (size_t row = 0; row < n; ++row) {
      if (row == i) continue;
      const double factor = a[row][i] / a[i][i];
      for (size_t j = i; j <= n; ++j) a[row][j] -= factor * a[i][j];
    }
  }
  RankOf ranks;
  for (const auto &[node, i] : place) ranks[node] = a[i][n] / a[i][i];
  return ranks;
}

RankOf as_map(const Ranks &ranks) {
  RankOf result;
  for (size_t i = 0; i < ranks.nodes.size(); ++i) result[ranks.nodes[i]] = ranks.ranks[i];
  return result;
}

double distance(const RankOf &a, const RankOf &b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double sum = 0;
  for (const auto &[node, rank] : a) sum += b.contains(node) ? std::fabs(rank - b.at(node)) : HUGE_VAL;
  return sum;
}

double total(const RankOf &ranks) {
  double sum = 0;
  for (const auto &[node, rank] : ranks) sum += rank;
  return sum;
}

RC_GTEST_PROP(PageRank, PowerIsAsExactAsItSays, ()) {
  WeightedEdges edges = any_edges(12, 40);
  const bool directed = *rc::gen::arbitrary<bool>(), weighted = *rc::gen::arbitrary<bool>();
  const double damping = *rc::gen::element(0.0, 0.3, 0.85, 0.99);
  const double tolerance = *rc::gen::element(0.5, 1e-3, 1e-12);
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(*rc::gen::inRange(1, 4), stop);
  EdgeList list(memory);
  add_edges(list, edges, weighted);
  if (!weighted)
    for (auto &edge : edges) edge.weight = 1;
  const RankOf found = as_map(pagerank_power(list, directed ? EdgeUse::directed : EdgeUse::undirected,
                                             damping, tolerance, pool, memory));
  RC_ASSERT(distance(dense_pagerank(edges, directed, damping), found) <= tolerance + 1e-12);
  if (!found.empty()) RC_ASSERT(std::fabs(total(found) - 1) < 1e-12);
}

// A graph with a hub, a chain, a loop, repeated edges and nodes without edges out.
WeightedEdges mixed_graph() {
  WeightedEdges edges;
  for (int64_t i = 1; i <= 30; ++i) edges.push_back({i, 0, 1.0 + static_cast<double>(i % 3)});
  for (int64_t i = 30; i < 60; ++i) edges.push_back({i, i + 1, 2.5});
  edges.push_back({0, 5, 0.25});
  edges.push_back({0, 5, 0.5});
  edges.push_back({7, 7, 4});
  edges.push_back({8, 9, 0});
  return edges;
}

TEST(PageRank, RandomWalkAgreesWithinSamplingError) {
  MemoryCounter memory;
  StopFlag stop;
  for (const bool weighted : {false, true}) {
    for (const bool directed : {false, true}) {
      WeightedEdges edges = mixed_graph();
      if (!weighted)
        for (auto &edge : edges) edge.weight = 1;
      WorkerPool pool(2, stop);
      EdgeList list(memory);
      add_edges(list, edges, weighted);
      constexpr uint32_t coupons = 20'000;
      const RankOf found = as_map(pagerank_random_walk(
          list, directed ? EdgeUse::directed : EdgeUse::undirected, 0.85, coupons, 42, pool, memory));
      const RankOf expected = dense_pagerank(edges, directed, 0.85);
      ASSERT_EQ(found.size(), expected.size());
      const double visits = coupons * static_cast<double>(expected.size()) / 0.15;
      for (const auto &[node, rank] : expected) {
        // Visits of one walk to a node come in bunches. Ten standard errors of independent visits cover that.
        EXPECT_NEAR(found.at(node), rank, 10 * std::sqrt(rank / visits)) << node;
      }
      EXPECT_NEAR(total(found), 1, 1e-12);
    }
  }
}

TEST(PageRank, TellsHowFarItIs) {
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(1, stop);
  std::atomic<double> share{0};
  for (const bool walks : {false, true}) {
    EdgeList list(memory);
    add_edges(list, mixed_graph(), true);
    share = 0;
    if (walks)
      pagerank_random_walk(list, EdgeUse::directed, 0.85, 20'000, 42, pool, memory, &share);
    else
      pagerank_power(list, EdgeUse::directed, 0.85, 1e-9, pool, memory, &share);
    EXPECT_GT(share, 0.8);
    EXPECT_LE(share, 1);
  }
}

TEST(PageRank, DoesNotDependOnThreadsOrOrder) {
  MemoryCounter memory;
  StopFlag stop;
  WeightedEdges edges = mixed_graph();
  std::vector<RankOf> power, walks;
  for (const int threads : {1, 3}) {
    std::reverse(edges.begin(), edges.end());
    WorkerPool pool(threads, stop);
    EdgeList first(memory), second(memory);
    add_edges(first, edges, true);
    add_edges(second, edges, true);
    power.push_back(as_map(pagerank_power(first, EdgeUse::directed, 0.85, 1e-9, pool, memory)));
    walks.push_back(as_map(pagerank_random_walk(second, EdgeUse::directed, 0.85, 50, 7, pool, memory)));
  }
  EXPECT_EQ(power[0], power[1]);
  EXPECT_EQ(walks[0], walks[1]);
  WorkerPool pool(2, stop);
  EdgeList list(memory);
  add_edges(list, edges, true);
  EXPECT_NE(walks[0], as_map(pagerank_random_walk(list, EdgeUse::directed, 0.85, 50, 8, pool, memory)));
}

TEST(PageRank, OfNothingIsNothing) {
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(2, stop);
  EdgeList none(memory), one(memory);
  EXPECT_EQ(pagerank_power(none, EdgeUse::directed, 0.85, 1e-9, pool, memory).nodes.size(), 0u);
  EXPECT_EQ(pagerank_random_walk(none, EdgeUse::directed, 0.85, 3, 1, pool, memory).nodes.size(), 0u);
  one.add_node(5);
  EXPECT_EQ(as_map(pagerank_power(one, EdgeUse::directed, 0.85, 1e-9, pool, memory)), (RankOf{{5, 1.0}}));
}

TEST(PageRank, TakesSmallWeightsAndRefusesSumsThatOverflow) {
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(1, stop);
  const WeightedEdges tiny = {{1, 2, 5e-324}, {1, 3, 5e-324}, {2, 1, 1e-300}};
  EdgeList list(memory), huge(memory);
  add_edges(list, tiny, true);
  const WeightedEdges same = {{1, 2, 1}, {1, 3, 1}, {2, 1, 1}};
  EXPECT_LT(distance(as_map(pagerank_power(list, EdgeUse::directed, 0.85, 1e-9, pool, memory)),
                     dense_pagerank(same, true, 0.85)),
            2e-9);
  add_edges(huge, {{1, 2, 1e308}, {1, 3, 1e308}}, true);
  EXPECT_THROW(pagerank_power(huge, EdgeUse::directed, 0.85, 1e-9, pool, memory), Error);
}

}  // namespace
}  // namespace simjoin::test
