// Graph functions that may run on a GPU, with a fake backend that fails on demand.
#include "core/graph/graph_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/random.hpp"
#include "unit/cpu_devices.hpp"
#include "unit/fake_gpu.hpp"

namespace simjoin::test {
namespace {

// Computes on the CPU, and counts.
class FakeGraphs final : public CpuGraphs {
 public:
  Components components(const EdgeList &edges, const HostSide &host) override {
    begin();
    most_edges = std::max(most_edges, edges.size());
    return CpuGraphs::components(edges, host);
  }
  Ranks pagerank_power(const EdgeList &edges, EdgeUse use, double damping, double tolerance,
                       const HostSide &host) override {
    begin();
    return CpuGraphs::pagerank_power(edges, use, damping, tolerance, host);
  }
  Ranks pagerank_random_walk(const EdgeList &edges, EdgeUse use, double damping, uint32_t coupons,
                             uint64_t seed, const HostSide &host) override {
    begin();
    return CpuGraphs::pagerank_random_walk(edges, use, damping, coupons, seed, host);
  }
  Spectrum leading_eigenvectors(const Graph &graph, const HostSide &host) override {
    begin();
    return CpuGraphs::leading_eigenvectors(graph, host);
  }

  std::optional<ErrorKind> fault;
  int calls = 0;
  size_t most_edges = 0;

 private:
  void begin() {
    ++calls;
    if (fault) fail_as(*fault);
  }
};

class FakeGraphBackend final : public FakeGpu {
 public:
  GraphDevice *graphs() override { return &fakes; }

  FakeGraphs fakes;
};

class GraphWorkTest : public testing::Test {
 protected:
  // Edges whose components are some chains in a random order.
  static std::pair<int64_t, int64_t> edge(size_t i, size_t count) {
    const size_t place = i * 7919 % count;
    return {static_cast<int64_t>(place), static_cast<int64_t>(place % 1000 == 0 ? place : place - 1)};
  }

  Components components(GraphWork &work, size_t edges, size_t most_held) {
    ComponentWork components(work, most_held, memory_);
    for (size_t i = 0; i < edges; ++i) {
      const auto [a, b] = edge(i, edges);
      components.add_edge(a, b);
      if (components.full()) components.make_room(pool_);
    }
    components.add_node(-5);
    return components.components(pool_);
  }

  // Checks the components by their names. A chain is named for its first node.
  static void expect_chains(const Components &found, size_t edges) {
    ASSERT_EQ(found.nodes.size(), edges + 1);
    EXPECT_EQ(found.components[0], -5);
    for (size_t i = 1; i < found.nodes.size(); ++i)
      ASSERT_EQ(found.components[i], found.nodes[i] / 1000 * 1000) << found.nodes[i];
  }

  Ranks ranks(GraphWork &work, const PageRankSpec &spec) {
    EdgeList edges(memory_);
    for (uint64_t i = 0; i < 300'000; ++i) {
      WalkRandom random(1, i);
      edges.add_edge(static_cast<int64_t>(random.below(20'000)), static_cast<int64_t>(random.below(20'000)));
    }
    return pagerank(edges, spec, work, pool_, memory_);
  }

  FakeGraphBackend backend_;
  StopFlag stop_;
  WorkerPool pool_{1, stop_};
  MemoryCounter memory_;
};

TEST_F(GraphWorkTest, ComponentsGoToTheGpuInLots) {
  constexpr size_t edges = 400'000;
  for (const size_t held : {size_t{16} << 20, size_t{16} * 100'000}) {  // all of them, a quarter of them
    backend_.fakes.calls = 0;
    backend_.fakes.most_edges = 0;
    GraphWork work(Device::gpu);
    expect_chains(components(work, edges, held), edges);
    EXPECT_EQ(backend_.fakes.calls > 1, held < 16 * edges);
    EXPECT_GE(backend_.fakes.calls, 1);
    EXPECT_LE(backend_.fakes.most_edges, held / 16);
    EXPECT_EQ(work.attempt.take_notice(), nullptr);
  }
}

TEST_F(GraphWorkTest, ComponentsGoOnWithoutAGpuThatFails) {
  constexpr size_t edges = 400'000;
  for (const ErrorKind kind : {ErrorKind::device_failure, ErrorKind::limit_exceeded}) {
    backend_.repair();
    backend_.fakes.fault = kind;
    for (const size_t held : {size_t{16} << 20, size_t{16} * 100'000}) {
      GraphWork work(Device::automatic);
      expect_chains(components(work, edges, held), edges);
    }
    GraphWork demanding(Device::gpu);
    EXPECT_THROW(components(demanding, edges, size_t{16} << 20), Error);
  }
}

TEST_F(GraphWorkTest, WithoutAGpuNothingIsHeldBackForLong) {
  constexpr size_t edges = 400'000;
  backend_.present = false;
  GraphWork work(Device::automatic);
  expect_chains(components(work, edges, size_t{16} * 100'000), edges);
  EXPECT_EQ(backend_.fakes.calls, 0);
  EXPECT_FALSE(work.attempt.outcome().gpu);
  EXPECT_NE(work.attempt.outcome().refused, "");
  EXPECT_LT(memory_.peak(), size_t{16} * 300'000 + edges * 40);
  GraphWork demanding(Device::gpu);
  EXPECT_THROW(components(demanding, edges, size_t{16} << 20), Error);
  GraphWork refusing(Device::cpu);
  expect_chains(components(refusing, edges, size_t{16} << 20), edges);
}

TEST_F(GraphWorkTest, PageRankUsesAGpuWhereItPays) {
  PageRankSpec spec;
  GraphWork work(Device::automatic);
  const Ranks expected = ranks(work, spec);
  EXPECT_EQ(backend_.fakes.calls, 1);
  spec.damping = 0.01;  // two steps
  spec.tolerance = 1;
  GraphWork small(Device::automatic);
  EdgeList few(memory_);
  few.add_edge(1, 2);
  pagerank(few, spec, small, pool_, memory_);
  EXPECT_EQ(backend_.fakes.calls, 1) << "not worth it";
  EXPECT_FALSE(small.attempt.outcome().gpu);
  EXPECT_EQ(small.attempt.outcome().refused, cpu_is_faster);
  EXPECT_TRUE(work.attempt.outcome().gpu);
  EXPECT_EQ(work.attempt.outcome().refused, "");
  spec.random_walk = true;
  spec.damping = 0.85;
  ranks(work, spec);
  EXPECT_EQ(backend_.fakes.calls, 2);

  backend_.fakes.fault = ErrorKind::limit_exceeded;
  const Ranks again = ranks(work, PageRankSpec{});
  const std::unique_ptr<Notice> too_large = work.attempt.take_notice();
  ASSERT_NE(too_large, nullptr);
  EXPECT_EQ(too_large->cause, Notice::Cause::too_large);
  EXPECT_EQ(work.attempt.outcome().refused, too_large->message);
  EXPECT_TRUE(
      std::equal(expected.ranks.begin(), expected.ranks.end(), again.ranks.begin(), again.ranks.end()));
  backend_.fakes.fault = ErrorKind::device_failure;
  GraphWork failing(Device::automatic);
  ranks(failing, PageRankSpec{});
  const std::unique_ptr<Notice> failed = failing.attempt.take_notice();
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->cause, Notice::Cause::failed);
  backend_.fakes.fault.reset();
  GraphWork later(Device::automatic);
  ranks(later, PageRankSpec{});
  EXPECT_EQ(backend_.fakes.calls, 4) << "a GPU that failed is not used again";
}

TEST_F(GraphWorkTest, AnErrorOfTheDataIsNoFailureOfTheGpu) {
  EdgeList edges(memory_);
  edges.add_edge(1, 2, 1e308);
  edges.add_edge(1, 3, 1e308);
  backend_.fakes.fault = ErrorKind::invalid_argument;
  GraphWork work(Device::gpu);
  EXPECT_THROW(pagerank(edges, PageRankSpec{}, work, pool_, memory_), Error);
  EXPECT_EQ(work.attempt.take_notice(), nullptr);
  EXPECT_EQ(gpu_failure(), "");
}

TEST_F(GraphWorkTest, DenseSubgraphsTakeEigenvectorsFromTheGpu) {
  const auto find = [&](Device device) {
    EdgeList edges(memory_);
    for (uint64_t i = 0; i < 3000; ++i) {
      WalkRandom random(1, i);
      edges.add_edge(static_cast<int64_t>(random.below(500)), static_cast<int64_t>(random.below(500)));
    }
    GraphWork work(device);
    return densest_subgraph(edges, 10, DensestMethod::bilinear, work, pool_, memory_);
  };
  const DenseSubgraph cpu = find(Device::cpu);
  EXPECT_EQ(backend_.fakes.calls, 0);
  const DenseSubgraph gpu = find(Device::gpu);
  EXPECT_EQ(backend_.fakes.calls, 1);
  EXPECT_TRUE(std::equal(cpu.nodes.begin(), cpu.nodes.end(), gpu.nodes.begin(), gpu.nodes.end()));
  EXPECT_EQ(cpu.upper_bound, gpu.upper_bound);
}

}  // namespace
}  // namespace simjoin::test
