// Graphs: numbering of nodes, adjacency lists, components, background tasks.
#include "core/graph/graph.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "core/base/background_task.hpp"
#include "core/base/error.hpp"
#include "core/base/mix.hpp"
#include "core/graph/components.hpp"
#include "core/graph/spanning_forest.hpp"
#include "unit/graphs.hpp"

namespace simjoin::test {
namespace {

using namespace std::chrono_literals;

// Returns the component of each node, by repeated passes over the edges.
std::map<int64_t, int64_t> naive_components(const WeightedEdges &edges, const std::set<int64_t> &nodes) {
  std::map<int64_t, int64_t> component;
  for (const int64_t node : nodes) component[node] = node;
  for (const auto &edge : edges) component[edge.from] = edge.from, component[edge.to] = edge.to;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &edge : edges) {
      const int64_t least = std::min(component[edge.from], component[edge.to]);
      changed = changed || component[edge.from] != least || component[edge.to] != least;
      component[edge.from] = component[edge.to] = least;
    }
  }
  return component;
}

RC_GTEST_PROP(Components, EqualThoseOfRepeatedPasses, ()) {
  const WeightedEdges edges = any_edges(40, 60);
  const auto isolated = *rc::gen::container<std::set<int64_t>>(rc::gen::arbitrary<int64_t>());
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(*rc::gen::inRange(1, 4), stop);
  ComponentFinder finder(memory);
  for (const auto &edge : edges) finder.add_edge(edge.from, edge.to);
  for (const int64_t node : isolated) finder.add_node(node);
  const Components components = finder.components(pool);
  std::map<int64_t, int64_t> found;
  for (size_t i = 0; i < components.nodes.size(); ++i) found[components.nodes[i]] = components.components[i];
  RC_ASSERT(std::is_sorted(components.nodes.begin(), components.nodes.end()));
  RC_ASSERT(found.size() == components.nodes.size());
  RC_ASSERT(found == naive_components(edges, isolated));
}

RC_GTEST_PROP(Forest, HasTheComponentsOfAllEdgesAndNoCycle, ()) {
  WeightedEdges edges = any_edges(40, 60);
  MemoryCounter memory;
  SpanningForest forest(memory);
  for (const auto &edge : edges) forest.add_edge(edge.from, edge.to);
  WeightedEdges kept;
  for (size_t i = 0; i < forest.edges().size(); ++i)
    kept.push_back({forest.edges()[i].from, forest.edges()[i].to, 1});
  std::erase_if(edges, [](const WeightedEdge &edge) { return edge.from == edge.to; });
  const auto expected = naive_components(edges, {});
  RC_ASSERT(naive_components(kept, {}) == expected);
  std::set<int64_t> components;
  for (const auto &[node, component] : expected) components.insert(component);
  RC_ASSERT(kept.size() == expected.size() - components.size());
}

TEST(Components, OfALongPathInAnyOrderIsOne) {
  constexpr int64_t length = 300'000;
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(2, stop);
  for (const bool backwards : {false, true}) {
    ComponentFinder finder(memory);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t node = backwards ? length - i : i;
      finder.add_edge(node * 1'000'003 - 7, (node + 1) * 1'000'003 - 7);
    }
    const Components components = finder.components(pool);
    ASSERT_EQ(components.nodes.size(), static_cast<size_t>(length) + 1);
    const int64_t first = components.nodes[0];
    EXPECT_TRUE(std::all_of(components.components.begin(), components.components.end(),
                            [&](int64_t component) { return component == first; }));
  }
  EXPECT_EQ(memory.current(), 0u);
}

// Returns the entries that the adjacency lists should have, as (from, to, weight).
std::multiset<std::tuple<int64_t, int64_t, double>> naive_entries(const WeightedEdges &edges, EdgeUse use) {
  std::multiset<std::tuple<int64_t, int64_t, double>> entries;
  std::map<std::pair<int64_t, int64_t>, double> heaviest;
  for (const auto &edge : edges) {
    if (edge.weight == 0) continue;
    if (use == EdgeUse::simple) {
      if (edge.from == edge.to) continue;
      for (const auto &ends : {std::pair(edge.from, edge.to), std::pair(edge.to, edge.from)})
        heaviest[ends] = std::max(heaviest[ends], edge.weight);
      continue;
    }
    entries.emplace(edge.from, edge.to, edge.weight);
    if (use == EdgeUse::undirected && edge.from != edge.to) entries.emplace(edge.to, edge.from, edge.weight);
  }
  for (const auto &[ends, weight] : heaviest) entries.emplace(ends.first, ends.second, weight);
  return entries;
}

RC_GTEST_PROP(Graphs, ListTheirEdgesInOrder, ()) {
  WeightedEdges edges = any_edges(12, 60);
  const auto use = *rc::gen::element(EdgeUse::directed, EdgeUse::undirected, EdgeUse::simple);
  const bool weighted = *rc::gen::arbitrary<bool>();
  if (!weighted)
    for (auto &edge : edges) edge.weight = 1;
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(2, stop);
  EdgeList list(memory);
  add_edges(list, edges, weighted);
  list.add_node(1'000'000);
  const Graph graph = build_graph(list, use, pool, memory);
  RC_ASSERT(graph.nodes[graph.node_count() - 1] == 1'000'000);
  RC_ASSERT(std::is_sorted(graph.nodes.begin(), graph.nodes.end()));
  std::multiset<std::tuple<int64_t, int64_t, double>> entries;
  for (uint32_t node = 0; node < graph.node_count(); ++node) {
    for (size_t i = graph.begin(node); i < graph.end(node); ++i) {
      entries.emplace(graph.nodes[node], graph.nodes[graph.targets[i]], graph.weight(i));
      // RC_ASSERT evaluates both sides of ||.
      if (i > graph.begin(node)) RC_ASSERT(graph.targets[i - 1] <= graph.targets[i]);
    }
  }
  RC_ASSERT(entries == naive_entries(edges, use));
}

// The lists of a graph, node after node.
std::vector<std::tuple<uint32_t, uint32_t, double>> entries_of(const Graph &graph) {
  std::vector<std::tuple<uint32_t, uint32_t, double>> entries;
  for (uint32_t node = 0; node < graph.node_count(); ++node)
    for (size_t i = graph.begin(node); i < graph.end(node); ++i)
      entries.emplace_back(node, graph.targets[i], graph.weight(i));
  return entries;
}

// Few nodes, with edges that are repeated with other weights, and so many that they are ordered by several
// digits.
TEST(Graphs, AreTurnedAroundInTwoWays) {
  StopFlag stop;
  for (const uint64_t nodes : {9u, 5'000u})
    for (const bool weighted : {false, true})
      for (const int threads : {1, 3}) {
        MemoryCounter memory;
        WorkerPool pool(threads, stop);
        EdgeList first(memory), second(memory);
        for (uint64_t i = 0; i < 200'000; ++i) {
          const uint64_t bits = mix_bits(i);
          const auto from = static_cast<int64_t>(bits % nodes);
          const auto to = static_cast<int64_t>((bits >> 32) % (nodes - 3));
          for (EdgeList *list : {&first, &second}) {
            if (weighted)
              list->add_edge(from, to, static_cast<double>(bits >> 60));
            else
              list->add_edge(from, to);
          }
        }
        const Graph graph = build_graph(first, EdgeUse::directed, pool, memory);
        const Graph reversed = build_reversed_graph(second, EdgeUse::directed, pool, memory);
        const auto entries = entries_of(reversed);
        EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end()));
        Graph other = transposed(graph, pool, memory);
        other.nodes.resize(graph.node_count());
        EXPECT_EQ(entries, entries_of(other));
        auto turned = entries_of(graph);
        for (auto &[from, to, weight] : turned) std::swap(from, to);
        std::sort(turned.begin(), turned.end());
        EXPECT_EQ(entries, turned);
      }
}

TEST(Graphs, ALongListIsOrdered) {
  constexpr int64_t neighbors = 200'000;
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(2, stop);
  for (const bool weighted : {false, true}) {
    EdgeList list(memory);
    for (int64_t i = 0; i < neighbors; ++i) {
      const int64_t other = i * 7919 % neighbors + 1;
      if (weighted)
        list.add_edge(0, other, static_cast<double>(other));
      else
        list.add_edge(0, other);
    }
    const Graph graph = build_graph(list, EdgeUse::simple, pool, memory);
    ASSERT_EQ(graph.end(0), static_cast<size_t>(neighbors));
    for (size_t i = 0; i < graph.end(0); ++i) {
      ASSERT_EQ(graph.targets[i], i + 1);
      ASSERT_EQ(graph.weight(i), weighted ? static_cast<double>(i + 1) : 1.0);
    }
  }
}

TEST(Graphs, RefuseWeightsThatAreNone) {
  MemoryCounter memory;
  EdgeList list(memory);
  for (const double weight : {-1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_THROW(list.add_edge(1, 2, weight), Error) << weight;
  }
  EXPECT_EQ(list.size(), 0u);
}

TEST(BackgroundTask, WaitsAndRethrows) {
  BackgroundTask answer(2, [](WorkerPool &) {});
  while (!answer.wait(1ms)) {
  }
  EXPECT_TRUE(answer.wait(0us));
  BackgroundTask failure(1, [](WorkerPool &) { throw std::runtime_error("failed"); });
  EXPECT_THROW(while (!failure.wait(1ms)){}, std::runtime_error);
}

TEST(BackgroundTask, StopsWhenItIsAbandoned) {
  std::atomic<bool> stopped{false};
  {
    BackgroundTask endless(2, [&](WorkerPool &pool) {
      while (!pool.stop().is_set()) std::this_thread::yield();
      stopped = true;
    });
    EXPECT_FALSE(endless.wait(1ms));
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace simjoin::test
