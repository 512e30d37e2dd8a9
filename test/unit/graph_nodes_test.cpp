// Numbers and ranks of nodes, sums in a fixed order, and the memory limit.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ordered_sum.hpp"
#include "core/graph/components.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/graph_work.hpp"
#include "core/graph/node_numbers.hpp"
#include "core/graph/random.hpp"

namespace simjoin::test {
namespace {

// Nodes that are close together, far apart, or at the ends of the type.
std::vector<int64_t> any_nodes(size_t most) {
  // Products and sums wrap around.
  const auto spread = *rc::gen::element<uint64_t>(1, 3, 1'000'003, uint64_t{1} << 40, uint64_t{1} << 57);
  const auto start = static_cast<uint64_t>(*rc::gen::element<int64_t>(0, -50, INT64_MIN, INT64_MAX - 100));
  std::vector<int64_t> nodes(*rc::gen::inRange<size_t>(0, most));
  for (int64_t &node : nodes)
    node = static_cast<int64_t>(start + *rc::gen::inRange<uint64_t>(0, 100) * spread);
  return nodes;
}

RC_GTEST_PROP(NodeNumbers, CountInTheOrderOfFirstSight, ()) {
  const std::vector<int64_t> nodes = any_nodes(300);
  MemoryCounter memory;
  NodeNumbers one_by_one(memory), together(memory);
  std::map<int64_t, uint32_t> expected;
  std::vector<uint32_t> numbers(nodes.size());
  together.numbers_of(nodes.data(), nodes.size(), numbers.data());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto [known, is_new] = expected.emplace(nodes[i], expected.size());
    const uint32_t number = known->second;
    RC_ASSERT(one_by_one.find(nodes[i]) == (is_new ? NodeNumbers::no_number : number));
    RC_ASSERT(one_by_one.number_of(nodes[i]) == number);
    RC_ASSERT(one_by_one.find(nodes[i]) == number);
    RC_ASSERT(numbers[i] == number);
    RC_ASSERT(together.nodes()[number] == nodes[i]);
  }
  RC_ASSERT(together.count() == expected.size());
  together.release();
  RC_ASSERT(together.count() == 0u);
  RC_ASSERT(together.number_of(5) == 0u);
}

TEST(NodeNumbers, GrowWithManyNodes) {
  constexpr int64_t count = 500'000;
  MemoryCounter memory;
  NodeNumbers numbers(memory);
  for (int round = 0; round < 2; ++round)
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(numbers.number_of(i * 1'000'000'007 - 5), static_cast<uint32_t>(i));
  EXPECT_LT(memory.current(), static_cast<size_t>(count) * 40);
}

RC_GTEST_PROP(NodeRanks, AreThePlacesAmongAllNodes, ()) {
  std::vector<int64_t> ends = any_nodes(200);
  if (ends.size() % 2 != 0) ends.pop_back();
  const std::vector<int64_t> lone = any_nodes(20);
  MemoryCounter memory;
  StopFlag stop;
  WorkerPool pool(*rc::gen::inRange(1, 4), stop);
  EdgeList edges(memory);
  for (size_t i = 0; i < ends.size(); i += 2) edges.add_edge(ends[i], ends[i + 1]);
  for (const int64_t node : lone) edges.add_node(node);
  std::set<int64_t> all(ends.begin(), ends.end());
  all.insert(lone.begin(), lone.end());
  const std::vector<int64_t> sorted(all.begin(), all.end());
  const Buffer<int64_t> nodes = edges.rank_nodes(pool, memory);
  RC_ASSERT(std::equal(sorted.begin(), sorted.end(), nodes.begin(), nodes.end()));
  for (size_t i = 0; i < edges.size(); ++i) {
    RC_ASSERT(sorted[edges.ranked(i).from] == ends[2 * i]);
    RC_ASSERT(sorted[edges.ranked(i).to] == ends[2 * i + 1]);
  }
}

TEST(OrderedSum, IsOneForAnyThreadsAndAddsEverythingOnce) {
  MemoryCounter memory;
  StopFlag stop;
  for (const size_t count : {0, 1, 7, 8, 9, 1023, 1024, 1025, 100'000, 1024 * 1024 + 1}) {
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = WalkRandom(1, i).fraction() - 0.5;
    const auto value = [&](size_t i) { return values[i]; };
    const double alone = ordered_sum(count, stop, value);
    EXPECT_NEAR(alone, std::accumulate(values.begin(), values.end(), 0.0), 1e-8) << count;
    for (const int threads : {1, 3}) {
      WorkerPool pool(threads, stop);
      EXPECT_EQ(parallel_sum(pool, count, memory, value), alone) << count;
    }
  }
}

TEST(GraphMemory, IsLimited) {
  StopFlag stop;
  WorkerPool pool(1, stop);
  MemoryCounter memory;
  memory.set_limit(size_t{8} << 20, {"the graph needs", "leave edges out"});
  try {
    EdgeList edges(memory);
    for (int64_t i = 0; i < 1'000'000; ++i) edges.add_edge(i, i + 1);
    ADD_FAILURE() << "16 MB fitted into 8";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory_limit_exceeded);
    EXPECT_FALSE(error.hint().empty());
  }
  EXPECT_EQ(memory.current(), 0u);
  EdgeList edges(memory);
  for (int64_t i = 0; i < 300'000; ++i) edges.add_edge(i, i * 7 % 300'000);
  EXPECT_THROW(pagerank_power(edges, EdgeUse::directed, 0.85, 1e-9, pool, memory), Error);
}

// Edges that are held back give the same components as others.
TEST(Components, OfEdgesThatAreHeldBack) {
  StopFlag stop;
  WorkerPool pool(2, stop);
  MemoryCounter memory;
  std::vector<Components> found;
  for (const size_t held : {size_t{0}, size_t{5000}, size_t{1'000'000}}) {
    ComponentFinder finder(memory);
    if (held > 0) finder.hold_back(held);
    for (uint64_t i = 0; i < 20'000; ++i) {
      WalkRandom random(1, i);
      finder.add_edge(static_cast<int64_t>(random.below(30'000)), static_cast<int64_t>(random.below(30'000)));
      if (held > 0 && finder.full()) {
        EXPECT_GE(finder.held().size(), held);
        finder.absorb(stop);
      }
    }
    EXPECT_EQ(finder.holds_all(), held > 20'000);
    found.push_back(finder.components(pool));
  }
  for (const Components &other : found) {
    EXPECT_TRUE(
        std::equal(other.nodes.begin(), other.nodes.end(), found[0].nodes.begin(), found[0].nodes.end()));
    EXPECT_TRUE(std::equal(other.components.begin(), other.components.end(), found[0].components.begin(),
                           found[0].components.end()));
  }
}

// The components that a device finds from held-back edges are merged with the rest.
TEST(Components, OfEdgesWhoseComponentsAreKnown) {
  StopFlag stop;
  WorkerPool pool(1, stop);
  MemoryCounter memory;
  ComponentFinder some(memory), all(memory);
  some.hold_back(100);
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t a = i % 300, b = (i * i + 7) % 500;
    all.add_edge(a, b);
    some.add_edge(a, b);
    if (!some.full()) continue;
    ComponentFinder part(memory);
    for (size_t e = 0; e < some.held().size(); ++e)
      part.add_edge(some.held().ends()[2 * e], some.held().ends()[2 * e + 1]);
    some.absorb(part.components(pool), stop);
    EXPECT_EQ(some.held().size(), 0u);
  }
  const Components expected = all.components(pool), found = some.components(pool);
  EXPECT_TRUE(
      std::equal(expected.nodes.begin(), expected.nodes.end(), found.nodes.begin(), found.nodes.end()));
  EXPECT_TRUE(std::equal(expected.components.begin(), expected.components.end(), found.components.begin(),
                         found.components.end()));
}

}  // namespace
}  // namespace simjoin::test
