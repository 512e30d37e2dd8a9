#include "core/graph/graph.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/graph/node_numbers.hpp"

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;   // edges or nodes between looks at the stop flag
constexpr size_t nodes_per_range = size_t{1} << 10;  // sorted by one worker at a time

struct Neighbor {
  uint32_t target;
  double weight;
};

bool in_lists(const EdgeList &edges, size_t i, EdgeUse use) {
  const Edge edge = edges.ranked(i);
  if (use == EdgeUse::simple && edge.from == edge.to) return false;
  return edges.weight(i) > 0;
}

bool in_both_lists(const Edge &edge, EdgeUse use) {
  return use != EdgeUse::directed && edge.from != edge.to;
}

// Calls place(from, to, i) in parallel for each entry that the edges give to adjacency lists.
template <typename Place>
void visit_entries(const EdgeList &edges, EdgeUse use, WorkerPool &pool, Place &&place) {
  for_ranges(pool, edges.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!in_lists(edges, i, use)) continue;
      const Edge edge = edges.ranked(i);
      place(edge.from, edge.to, i);
      if (in_both_lists(edge, use)) place(edge.to, edge.from, i);
    }
  });
}

uint64_t add_one(uint64_t &counter) {
  return std::atomic_ref<uint64_t>(counter).fetch_add(1, std::memory_order_relaxed);
}

// Orders one list by target, then weight. With `merge`, keeps the heaviest entry of each target. Returns the
// number of remaining entries.
size_t order_list(Graph &graph, size_t node, bool merge, const StopFlag &stop, Buffer<Neighbor> &scratch) {
  uint32_t *targets = graph.targets.data() + graph.offsets[node];
  const size_t count = graph.offsets[node + 1] - graph.offsets[node];
  if (!graph.weighted()) {
    std::sort(targets, targets + count, stoppable(stop, std::less<>()));
    return merge ? static_cast<size_t>(std::unique(targets, targets + count) - targets) : count;
  }
  double *weights = graph.weights.data() + graph.offsets[node];
  scratch.resize(count);
  for (size_t i = 0; i < count; ++i) scratch[i] = {targets[i], weights[i]};
  const auto less = [](const Neighbor &a, const Neighbor &b) {
    return a.target != b.target ? a.target < b.target : a.weight < b.weight;
  };
  std::sort(scratch.begin(), scratch.end(), stoppable(stop, less));
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (merge && kept > 0 && targets[kept - 1] == scratch[i].target) --kept;
    targets[kept] = scratch[i].target;
    weights[kept++] = scratch[i].weight;
  }
  return kept;
}

// Closes the gaps that merging left: each list has `kept` entries.
void compact(Graph &graph, const Buffer<uint32_t> &kept, const StopFlag &stop) {
  uint64_t place = 0;
  for (uint32_t node = 0; node < graph.node_count(); ++node) {
    if (node % check_interval == 0) stop.check();
    const uint64_t begin = graph.offsets[node];
    std::copy_n(graph.targets.begin() + begin, kept[node], graph.targets.begin() + place);
    if (graph.weighted())
      std::copy_n(graph.weights.begin() + begin, kept[node], graph.weights.begin() + place);
    graph.offsets[node] = place;
    place += kept[node];
  }
  graph.offsets[graph.node_count()] = place;
  graph.targets.resize(place);
  if (graph.weighted()) graph.weights.resize(place);
}

void order_lists(Graph &graph, bool merge, WorkerPool &pool, MemoryCounter &memory) {
  const size_t nodes = graph.offsets.size() - 1;
  Buffer<uint32_t> kept(memory, merge ? nodes : 0);
  for_ranges(pool, nodes, nodes_per_range, [&](size_t begin, size_t end) {
    Buffer<Neighbor> scratch(memory);
    for (size_t node = begin; node < end; ++node) {
      const size_t count = order_list(graph, node, merge, pool.stop(), scratch);
      if (merge) kept[node] = static_cast<uint32_t>(count);
    }
  });
  if (merge) compact(graph, kept, pool.stop());
}

// Returns a copy of the offsets at which lists begin.
Buffer<uint64_t> list_begins(const Graph &graph, WorkerPool &pool, MemoryCounter &memory) {
  Buffer<uint64_t> begins(memory, graph.offsets.size() - 1);
  for_ranges(pool, begins.size(), entries_per_range, [&](size_t begin, size_t end) {
    std::copy(graph.offsets.begin() + begin, graph.offsets.begin() + end, begins.begin() + begin);
  });
  return begins;
}

}  // namespace

void EdgeList::add_edge(int64_t from, int64_t to, double weight) {
  if (!std::isfinite(weight) || weight < 0) {
    char message[160];
    std::snprintf(message, sizeof message, "the weight of the edge (%lld, %lld) is %g",
                  static_cast<long long>(from), static_cast<long long>(to), weight);
    throw Error(ErrorKind::invalid_argument, message, "Weights are finite numbers that are not negative.");
  }
  add_edge(from, to);
  weights_.push_back(weight);
}

Buffer<int64_t> EdgeList::rank_nodes(WorkerPool &pool, MemoryCounter &memory) {
  return replace_by_ranks(ends_, lone_, least_, greatest_, pool, memory);
}

void EdgeList::clear() {
  ends_.clear();
  lone_.clear();
  weights_.clear();
  least_ = INT64_MAX;
  greatest_ = INT64_MIN;
}

void EdgeList::release() {
  clear();
  ends_.release();
  lone_.release();
  weights_.release();
}

void add_up_offsets(Buffer<uint64_t> &offsets, const StopFlag &stop) {
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    offsets[i] += offsets[i - 1];
  }
}

Graph transposed(const Graph &graph, WorkerPool &pool, MemoryCounter &memory) {
  Graph result(memory);
  result.is_weighted = graph.is_weighted;
  fill(result.offsets, graph.offsets.size(), uint64_t{0}, pool);
  for_ranges(pool, graph.targets.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) add_one(result.offsets[graph.targets[i] + 1]);
  });
  add_up_offsets(result.offsets, pool.stop());
  result.targets.resize(graph.targets.size());
  result.weights.resize(graph.weights.size());
  Buffer<uint64_t> places = list_begins(result, pool, memory);
  for_ranges(pool, graph.node_count(), nodes_per_range, [&](size_t begin, size_t end) {
    for (size_t node = begin; node < end; ++node) {
      for (size_t i = graph.offsets[node]; i < graph.offsets[node + 1]; ++i) {
        if (i % check_interval == 0) pool.stop().check();
        const uint64_t place = add_one(places[graph.targets[i]]);
        result.targets[place] = static_cast<uint32_t>(node);
        if (graph.weighted()) result.weights[place] = graph.weights[i];
      }
    }
  });
  places.release();
  order_lists(result, false, pool, memory);
  return result;
}

Graph build_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory) {
  Graph graph(memory);
  graph.is_weighted = edges.weighted();
  graph.nodes = edges.rank_nodes(pool, memory);
  fill(graph.offsets, graph.nodes.size() + 1, uint64_t{0}, pool);
  visit_entries(edges, use, pool, [&](uint32_t from, uint32_t, size_t) { add_one(graph.offsets[from + 1]); });
  add_up_offsets(graph.offsets, pool.stop());
  graph.targets.resize(graph.offsets.back());
  if (graph.weighted()) graph.weights.resize(graph.offsets.back());
  Buffer<uint64_t> places = list_begins(graph, pool, memory);
  visit_entries(edges, use, pool, [&](uint32_t from, uint32_t to, size_t i) {
    const uint64_t place = add_one(places[from]);
    graph.targets[place] = to;
    if (graph.weighted()) graph.weights[place] = edges.weight(i);
  });
  edges.release();
  places.release();
  order_lists(graph, use == EdgeUse::simple, pool, memory);
  return graph;
}

}  // namespace simjoin
