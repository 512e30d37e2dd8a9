// Graph functions on the GPU against the CPU's, bit by bit, with faults and interrupts.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>

#include "core/base/error.hpp"
#include "core/graph/random.hpp"
#include "cuda/engine/gpu_engine.hpp"
#include "cuda/graph/graph_device.hpp"
#include "gpu/gpu_drive.hpp"

namespace simjoin::test {
namespace {

// The shape of a random graph.
struct Shape {
  const char *name;
  int64_t nodes;
  size_t edges;
  int64_t spread;  // distance between ids
  int64_t start;   // smallest id
  double skew;     // share of edges that begin at the first node
  bool weighted;
  size_t lone;  // nodes added alone
};

const Shape shapes[] = {
    {"one_edge", 2, 1, 1, 0, 0, false, 0},
    {"one_node", 1, 0, 1, 5, 0, false, 1},
    {"few", 33, 40, 1, -7, 0.1, false, 3},
    {"close", 5000, 30'000, 3, 1000, 0, false, 10},
    {"far", 5000, 30'000, int64_t{1} << 48, INT64_MIN, 0, false, 10},
    {"hub", 200'000, 400'000, 1, 0, 0.5, false, 0},
    {"large_hub", 3'000'000, 3'000'000, 1, 0, 0.7, false, 100},
    {"weights", 4000, 50'000, 1, 0, 0.2, true, 7},
    {"weights_far", 4000, 50'000, 1'000'000'007, -5, 0.2, true, 7},
    {"paths", 300'000, 250'000, 1, 0, 0, false, 0},
};

EdgeList make_edges(const Shape &shape, uint64_t seed, MemoryCounter &memory) {
  EdgeList edges(memory);
  const auto node = [&](uint64_t i) {
    return static_cast<int64_t>(static_cast<uint64_t>(shape.start) + i * static_cast<uint64_t>(shape.spread));
  };
  const auto nodes = static_cast<uint64_t>(shape.nodes);
  const bool path = std::strcmp(shape.name, "paths") == 0;
  for (size_t i = 0; i < shape.edges; ++i) {
    WalkRandom random(seed, i);
    uint64_t from = random.fraction() < shape.skew ? 0 : random.below(nodes), to = random.below(nodes);
    if (path) {  // long chains in a random order
      from = i * 7919 % shape.edges;
      to = from + 1;
    }
    if (random.below(2) == 0) std::swap(from, to);
    // Some weights are zero, and some repeat.
    if (shape.weighted)
      edges.add_edge(node(from), node(to), static_cast<double>(random.below(50)) * 0.1);
    else
      edges.add_edge(node(from), node(to));
  }
  for (size_t i = 0; i < shape.lone; ++i) edges.add_node(node(nodes + i % 5));
  return edges;
}

template <typename T>
::testing::AssertionResult same(const Buffer<T> &a, const Buffer<T> &b) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " and " << b.size() << " elements";
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
  return ::testing::AssertionSuccess();
}

class GpuGraphs : public OnDevice<::testing::TestWithParam<size_t>> {
 protected:
  const Shape &shape() const { return shapes[GetParam()]; }
  EdgeList edges() { return make_edges(shape(), GetParam(), memory_); }
  HostSide host() { return {pool_, memory_, 0}; }

  StopFlag stop_;
  WorkerPool pool_{2, stop_};
  MemoryCounter memory_;
};

TEST_P(GpuGraphs, ComponentsAreThoseOfTheCpu) {
  const EdgeList list = edges();
  ComponentFinder finder(memory_);
  for (size_t i = 0; i < list.size(); ++i) finder.add_edge(list.ends()[2 * i], list.ends()[2 * i + 1]);
  for (size_t i = 0; i < list.lone().size(); ++i) finder.add_node(list.lone()[i]);
  const Components expected = finder.components(pool_);
  for (int run = 0; run < 3; ++run) {
    const Components found = cuda_graphs().components(list, host());
    EXPECT_TRUE(same(expected.nodes, found.nodes));
    EXPECT_TRUE(same(expected.components, found.components));
  }
}

TEST_P(GpuGraphs, PowerIterationIsThatOfTheCpu) {
  for (const EdgeUse use : {EdgeUse::directed, EdgeUse::undirected}) {
    EdgeList list = edges();
    const Ranks found = cuda_graphs().pagerank_power(list, use, 0.85, 1e-6, host());
    const Ranks expected = pagerank_power(list, use, 0.85, 1e-6, pool_, memory_);
    EXPECT_TRUE(same(expected.nodes, found.nodes));
    EXPECT_TRUE(same(expected.ranks, found.ranks));
  }
}

TEST_P(GpuGraphs, WalksAreThoseOfTheCpu) {
  for (const EdgeUse use : {EdgeUse::directed, EdgeUse::undirected}) {
    EdgeList list = edges();
    const Ranks found = cuda_graphs().pagerank_random_walk(list, use, 0.85, 2, 42, host());
    const Ranks expected = pagerank_random_walk(list, use, 0.85, 2, 42, pool_, memory_);
    EXPECT_TRUE(same(expected.nodes, found.nodes));
    EXPECT_TRUE(same(expected.ranks, found.ranks));
  }
}

TEST_P(GpuGraphs, EigenvectorsAreThoseOfTheCpu) {
  EdgeList list = edges();
  const Graph graph = build_graph(list, EdgeUse::simple, pool_, memory_);
  const Spectrum expected = leading_eigenvectors(graph, pool_, memory_);
  const Spectrum found = cuda_graphs().leading_eigenvectors(graph, host());
  EXPECT_EQ(expected.radius_bound, found.radius_bound);
  EXPECT_TRUE(same(expected.first, found.first));
  EXPECT_TRUE(same(expected.second, found.second));
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuGraphs, ::testing::Range(size_t{0}, std::size(shapes)),
                         [](const auto &info) { return std::string(shapes[info.param].name); });

class GpuGraphFaults : public OnDevice<::testing::Test> {
 protected:
  void TearDown() override { fail_device_call(0, false); }

  void run_all() {
    const EdgeList list = make_edges(shapes[7], 1, memory_);
    const HostSide host{pool_, memory_, 0};
    cuda_graphs().components(list, host);
    cuda_graphs().pagerank_power(list, EdgeUse::directed, 0.85, 0.1, host);
    cuda_graphs().pagerank_random_walk(list, EdgeUse::undirected, 0.85, 1, 1, host);
  }

  StopFlag stop_;
  WorkerPool pool_{2, stop_};
  MemoryCounter memory_;
};

TEST_F(GpuGraphFaults, EveryCallCanFail) {
  run_all();
  const size_t held = memory_.current();
  fail_each_call(
      50, [this] { run_all(); }, [] { ADD_FAILURE() << "failed unnoticed"; }, 100);
  run_all();
  EXPECT_EQ(memory_.current(), held);
}

TEST_F(GpuGraphFaults, TooLittleMemoryIsAnErrorWithAHint) {
  const EdgeList list = make_edges(shapes[5], 1, memory_);
  try {
    cuda_graphs().components(list, {pool_, memory_, size_t{1} << 20});
    ADD_FAILURE() << "the limit was not kept";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_FALSE(error.hint().empty());
  }
}

// A stopped function ends soon.
TEST_F(GpuGraphFaults, StopsWhereItIs) {
  const EdgeList list = make_edges(shapes[6], 1, memory_);
  { const Components first = cuda_graphs().components(list, {pool_, memory_, 0}); }
  for (const int delay : {1, 20, 60, 150}) {
    StopFlag stop;
    WorkerPool pool(2, stop);
    std::chrono::steady_clock::time_point stopped;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      stopped = std::chrono::steady_clock::now();
      stop.set();
    });
    EXPECT_THROW(
        cuda_graphs().pagerank_random_walk(list, EdgeUse::directed, 0.9999, 1'000'000, 1, {pool, memory_, 0}),
        Cancelled);
    stopper.join();
    EXPECT_LT(std::chrono::steady_clock::now() - stopped, std::chrono::milliseconds(100)) << delay;
  }
}

}  // namespace
}  // namespace simjoin::test
