#include "core/graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/parallel_sort.hpp"

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;  // edges or nodes between looks at the stop flag
constexpr size_t nodes_a_range = size_t{1} << 12;   // sorted by one worker at a time
constexpr uint64_t sign_bit = uint64_t{1} << 63;    // flipped, it makes signed numbers sort as unsigned ones

struct Neighbor {
  uint32_t target;
  double weight;
};

bool in_lists(const EdgeList &edges, size_t i, EdgeUse use) {
  if (use == EdgeUse::simple && edges.edge(i).from == edges.edge(i).to) return false;
  return edges.weight(i) > 0;
}

bool in_both_lists(const Edge &edge, EdgeUse use) {
  return use != EdgeUse::directed && edge.from != edge.to;
}

// Calls place(from, to, i) for each entry of an adjacency list that the edges give.
template <typename Place>
void visit_entries(const EdgeList &edges, EdgeUse use, const Buffer<uint32_t> &rank_of, const StopFlag &stop,
                   Place &&place) {
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    if (!in_lists(edges, i, use)) continue;
    const Edge edge{rank_of[edges.edge(i).from], rank_of[edges.edge(i).to]};
    place(edge.from, edge.to, i);
    if (in_both_lists(edge, use)) place(edge.to, edge.from, i);
  }
}

// Sorts by less(a, b), in pieces small enough to be abandoned at any time.
template <typename T, typename Less>
void sort_stoppably(T *data, size_t count, const StopFlag &stop, Less less) {
  if (count <= check_interval) {
    std::sort(data, data + count, less);
    return;
  }
  size_t compared = 0;
  std::sort(data, data + count, [&](const T &a, const T &b) {
    if (++compared % check_interval == 0) stop.check();
    return less(a, b);
  });
}

// Orders one list by target, then weight; where `merge`, keeps the heaviest entry of each target. Returns how
// many entries remain.
size_t order_list(Graph &graph, uint32_t node, bool merge, const StopFlag &stop, Buffer<Neighbor> &scratch) {
  uint32_t *targets = graph.targets.data() + graph.begin(node);
  const size_t count = graph.end(node) - graph.begin(node);
  if (!graph.weighted()) {
    sort_stoppably(targets, count, stop, std::less<>());
    return merge ? static_cast<size_t>(std::unique(targets, targets + count) - targets) : count;
  }
  double *weights = graph.weights.data() + graph.begin(node);
  scratch.resize(count);
  for (size_t i = 0; i < count; ++i) scratch[i] = {targets[i], weights[i]};
  sort_stoppably(scratch.data(), count, stop, [](const Neighbor &a, const Neighbor &b) {
    return a.target != b.target ? a.target < b.target : a.weight < b.weight;
  });
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
  Buffer<uint32_t> kept(memory, graph.node_count());
  for_ranges(pool, graph.node_count(), nodes_a_range, [&](size_t begin, size_t end) {
    pool.stop().check();
    Buffer<Neighbor> scratch(memory);
    for (size_t node = begin; node < end; ++node) {
      kept[node] =
          static_cast<uint32_t>(order_list(graph, static_cast<uint32_t>(node), merge, pool.stop(), scratch));
    }
  });
  if (merge) compact(graph, kept, pool.stop());
}

}  // namespace

uint32_t NodeNumbers::number_of(int64_t node) {
  if (count() >= UINT32_MAX - 1)
    throw Error(ErrorKind::limit_exceeded, "a graph cannot have more than 4294967294 nodes");
  uint32_t number;
  interner_->intern(Side::left, std::span<const int64_t>(&node, 1), &number);
  return number;
}

Buffer<int64_t> NodeNumbers::sorted(WorkerPool &pool, MemoryCounter &memory,
                                    Buffer<uint32_t> *rank_of) const {
  Buffer<SortKey> keys(memory);
  keys.reserve(count());
  const auto add = [&](int64_t node, uint32_t number) {
    if (keys.size() % check_interval == 0) pool.stop().check();
    SortKey key;
    key.hi = static_cast<uint64_t>(node) ^ sign_bit;
    key.lo = number;
    keys.push_back(key);
  };
  for (size_t slot = 0; slot < interner_->direct_slots(); ++slot) {
    const uint32_t number = interner_->direct_id(slot);
    if (number != IntegerInterner::no_id) add(static_cast<int64_t>(slot), number);
  }
  interner_->visit_hashed(add);
  sort_keys(keys, pool, memory);
  Buffer<int64_t> nodes(memory, keys.size());
  if (rank_of != nullptr) rank_of->resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % check_interval == 0) pool.stop().check();
    nodes[i] = static_cast<int64_t>(keys[i].hi ^ sign_bit);
    if (rank_of != nullptr) (*rank_of)[keys[i].lo] = static_cast<uint32_t>(i);
  }
  return nodes;
}

void EdgeList::add_edge(int64_t from, int64_t to) {
  const uint32_t source = numbers_.number_of(from);
  edges_.push_back({source, numbers_.number_of(to)});
}

void EdgeList::add_edge(int64_t from, int64_t to, double weight) {
  if (!std::isfinite(weight) || weight < 0) {
    char message[160];
    std::snprintf(message, sizeof message, "the weight of the edge (%lld, %lld) is %g",
                  static_cast<long long>(from), static_cast<long long>(to), weight);
    throw Error(ErrorKind::invalid_argument, message, "Weights are finite and not negative.");
  }
  add_edge(from, to);
  weights_.push_back(weight);
}

void EdgeList::release() {
  numbers_.release();
  edges_.release();
  weights_.release();
}

Graph build_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory) {
  Graph graph(memory);
  Buffer<uint32_t> rank_of(memory);
  graph.is_weighted = edges.weighted();
  graph.nodes = edges.numbers().sorted(pool, memory, &rank_of);
  edges.numbers().release();

  graph.offsets.resize(graph.nodes.size() + 1, 0);
  visit_entries(edges, use, rank_of, pool.stop(),
                [&](uint32_t from, uint32_t, size_t) { ++graph.offsets[from + 1]; });
  for (size_t node = 0; node < graph.nodes.size(); ++node) graph.offsets[node + 1] += graph.offsets[node];
  graph.targets.resize(graph.offsets.back());
  if (graph.weighted()) graph.weights.resize(graph.offsets.back());
  Buffer<uint64_t> places(memory, graph.nodes.size());
  std::copy_n(graph.offsets.begin(), graph.nodes.size(), places.begin());
  visit_entries(edges, use, rank_of, pool.stop(), [&](uint32_t from, uint32_t to, size_t i) {
    const uint64_t place = places[from]++;
    graph.targets[place] = to;
    if (graph.weighted()) graph.weights[place] = edges.weight(i);
  });
  edges.release();
  places.release();
  order_lists(graph, use == EdgeUse::simple, pool, memory);
  return graph;
}

}  // namespace simjoin
