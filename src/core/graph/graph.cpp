#include "core/graph/graph.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/base/weight.hpp"
#include "core/graph/node_numbers.hpp"
#include "core/sort/distribute.hpp"

namespace simjoin {
namespace {

// Edges or entries that are distributed between looks at the stop flag.
constexpr size_t entries_per_run = size_t{1} << 16;
constexpr size_t nodes_per_range = size_t{1} << 10;  // whose lists one worker looks through at a time
constexpr size_t most_parts = 16;                    // of a distribution, for each worker
constexpr int digit_bits = 11;                       // of a distribution, at most: its cursors fit the cache

bool in_lists(const EdgeList &edges, size_t i, EdgeUse use) {
  const Edge edge = edges.ranked(i);
  if (use == EdgeUse::simple && edge.from == edge.to) return false;
  return edges.weight(i) > 0;
}

bool in_both_lists(const Edge &edge, EdgeUse use) {
  return use != EdgeUse::directed && edge.from != edge.to;
}

// An entry of an adjacency list. The entries of a list are next to each other when entries are in order.
struct Neighbor {
  uint32_t list;
  uint32_t target;

  double weight() const { return 1; }
};
struct WeightedNeighbor : Neighbor {
  double value;

  double weight() const { return value; }
};

bool same_edge(const Neighbor &a, const Neighbor &b) {
  return a.list == b.list && a.target == b.target;
}

// Orders the entries of adjacency lists by a stable distribution for each digit of their nodes. Neither the
// time nor the result depends on how nodes are spread or on the number of workers.
template <typename Entry>
class ListOrder {
 public:
  ListOrder(size_t nodes, WorkerPool &pool, MemoryCounter &memory)
      : bits_(std::max(1, static_cast<int>(std::bit_width(std::max<size_t>(nodes, 1) - 1)))),
        passes_((bits_ + digit_bits - 1) / digit_bits),
        pool_(pool),
        memory_(memory),
        entries_(memory) {}

  // Orders by target. Calls visit(begin, end, take) for ranges of [0, count); it calls take(entry) for each
  // entry, in the same order at each call. Calls release() once it no longer calls visit.
  template <typename Visit, typename Release>
  void by_target(size_t count, Visit &&visit, Release &&release) {
    distribute(
        count, shift_of(0), [](const Entry &entry) { return entry.target; }, visit);
    release();
    redistribute(1, [](const Entry &entry) { return entry.target; });
  }
  // Orders by list; the entries of a list keep their order.
  void by_list() {
    redistribute(0, [](const Entry &entry) { return entry.list; });
  }
  template <typename Visit>
  void by_list(size_t count, Visit &&visit) {
    distribute(
        count, shift_of(0), [](const Entry &entry) { return entry.list; }, visit);
    redistribute(1, [](const Entry &entry) { return entry.list; });
  }

  Buffer<Entry> &entries() { return entries_; }

 private:
  int shift_of(int pass) const { return bits_ * pass / passes_; }

  template <typename Node, typename Visit>
  void distribute(size_t count, int shift, Node &&node, Visit &&visit) {
    const size_t parts =
        std::clamp<size_t>(count / entries_per_run, 1, most_parts * static_cast<size_t>(pool_.workers()));
    const uint32_t mask = (1u << ((bits_ + passes_ - 1) / passes_)) - 1;
    Distribution<uint64_t> places(parts, size_t{mask} + 1, pool_, memory_);
    const auto visit_part = [&](size_t part, auto &&take) {
      const size_t end = count * (part + 1) / parts;
      for (size_t at = count * part / parts; at < end; at += entries_per_run) {
        pool_.stop().check();
        visit(at, std::min(end, at + entries_per_run), take);
      }
    };
    places.count([&](size_t part, uint64_t *counts) {
      visit_part(part, [&](const Entry &entry) { ++counts[node(entry) >> shift & mask]; });
    });
    Buffer<Entry> placed(memory_, places.items());
    places.place([&](size_t part, uint64_t *next) {
      visit_part(part, [&](const Entry &entry) { placed[next[node(entry) >> shift & mask]++] = entry; });
    });
    entries_ = std::move(placed);
  }
  // Distributes the entries by the digits from the pass `first` on.
  template <typename Node>
  void redistribute(int first, Node &&node) {
    for (int pass = first; pass < passes_; ++pass)
      distribute(entries_.size(), shift_of(pass), node, [&](size_t begin, size_t end, auto &&take) {
        for (size_t i = begin; i < end; ++i) take(entries_[i]);
      });
  }

  const int bits_;    // of a node
  const int passes_;  // over them
  WorkerPool &pool_;
  MemoryCounter &memory_;
  Buffer<Entry> entries_;
};

Neighbor heaviest_repeated(const Buffer<Neighbor> &entries, size_t last, const StopFlag &) {
  return entries[last];
}
// Returns the heaviest entry of an edge, whose last entry is given.
WeightedNeighbor heaviest_repeated(const Buffer<WeightedNeighbor> &entries, size_t last,
                                   const StopFlag &stop) {
  WeightedNeighbor heaviest = entries[last];
  for (size_t i = last; i > 0 && same_edge(entries[i - 1], heaviest); --i) {
    stop.check_at(i);
    heaviest.value = std::max(heaviest.value, entries[i - 1].value);
  }
  return heaviest;
}

// Keeps the heaviest entry of each edge.
template <typename Entry>
void merge_repeated(Buffer<Entry> &entries, WorkerPool &pool, MemoryCounter &memory) {
  const size_t parts = (entries.size() + entries_per_range - 1) / entries_per_range;
  const auto visit_last = [&](size_t part, auto &&body) {
    const size_t end = std::min(entries.size(), (part + 1) * entries_per_range);
    for (size_t i = part * entries_per_range; i < end; ++i)
      if (i + 1 == entries.size() || !same_edge(entries[i], entries[i + 1])) body(i);
  };
  Distribution<uint64_t> places(parts, 1, pool, memory);
  places.count([&](size_t part, uint64_t *count) { visit_last(part, [&](size_t) { ++*count; }); });
  Buffer<Entry> kept(memory, places.items());
  places.place([&](size_t part, uint64_t *next) {
    visit_last(part, [&](size_t i) { kept[(*next)++] = heaviest_repeated(entries, i, pool.stop()); });
  });
  entries = std::move(kept);
}

// Orders the weights of each repeated edge, which are in the order of the query's rows.
void order_repeated(Graph &graph, WorkerPool &pool) {
  for_ranges(pool, graph.node_count(), nodes_per_range, [&](size_t begin, size_t end) {
    for (size_t node = begin; node < end; ++node) {
      size_t first = graph.offsets[node];
      for (size_t i = first; i < graph.offsets[node + 1]; ++i) {
        pool.stop().check_at(i);
        if (i + 1 < graph.offsets[node + 1] && graph.targets[i + 1] == graph.targets[first]) continue;
        if (i > first)
          std::sort(graph.weights.begin() + first, graph.weights.begin() + i + 1,
                    stoppable(pool.stop(), std::less<>()));
        first = i + 1;
      }
    }
  });
}

// Writes the lists of the ordered entries, which are released, into the graph.
template <typename Entry>
void write_lists(Buffer<Entry> &entries, size_t nodes, Graph &graph, WorkerPool &pool) {
  graph.offsets.resize(nodes + 1);
  graph.targets.resize(entries.size());
  if (graph.weighted()) graph.weights.resize(entries.size());
  // Sets the begins of the lists after `before` up to `list`.
  const auto begin_lists = [&](size_t before, size_t list, size_t place) {
    for (size_t i = before; i < list; ++i) {
      pool.stop().check_at(i);
      graph.offsets[i + 1] = place;
    }
  };
  graph.offsets[0] = 0;
  if (entries.empty()) return begin_lists(0, nodes, 0);
  for_ranges(pool, entries.size(), entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      begin_lists(i == 0 ? 0 : entries[i - 1].list, entries[i].list, i);
      graph.targets[i] = entries[i].target;
      if (graph.weighted()) graph.weights[i] = entries[i].weight();
    }
  });
  begin_lists(entries[entries.size() - 1].list, nodes, entries.size());
  entries.release();
}

// Turns the edges between ranks, which are released, into lists.
template <typename Entry>
void order_edges(EdgeList &edges, EdgeUse use, bool reversed, Graph &graph, WorkerPool &pool,
                 MemoryCounter &memory) {
  ListOrder<Entry> order(graph.nodes.size(), pool, memory);
  const auto visit = [&](size_t begin, size_t end, auto &&take) {
    for (size_t i = begin; i < end; ++i) {
      if (!in_lists(edges, i, use)) continue;
      const Edge edge = edges.ranked(i);
      Entry entry;
      if constexpr (std::is_same_v<Entry, WeightedNeighbor>) entry.value = edges.weight(i);
      entry.list = reversed ? edge.to : edge.from;
      entry.target = reversed ? edge.from : edge.to;
      take(entry);
      if (!in_both_lists(edge, use)) continue;
      std::swap(entry.list, entry.target);
      take(entry);
    }
  };
  order.by_target(edges.size(), visit, [&] { edges.release(); });
  order.by_list();
  if (use == EdgeUse::simple) merge_repeated(order.entries(), pool, memory);
  write_lists(order.entries(), graph.nodes.size(), graph, pool);
  if (graph.weighted() && use != EdgeUse::simple) order_repeated(graph, pool);
}

template <typename Entry>
void transpose(const Graph &graph, Graph &result, WorkerPool &pool, MemoryCounter &memory) {
  ListOrder<Entry> order(graph.node_count(), pool, memory);
  order.by_list(graph.targets.size(), [&](size_t begin, size_t end, auto &&take) {
    // The list that `begin` is in.
    size_t node = static_cast<size_t>(std::upper_bound(graph.offsets.begin(), graph.offsets.end(), begin) -
                                      graph.offsets.begin()) -
                  1;
    for (size_t i = begin; i < end; ++i) {
      while (graph.offsets[node + 1] <= i) ++node;
      Entry entry;
      if constexpr (std::is_same_v<Entry, WeightedNeighbor>) entry.value = graph.weights[i];
      entry.list = graph.targets[i];
      entry.target = static_cast<uint32_t>(node);
      take(entry);
    }
  });
  write_lists(order.entries(), graph.node_count(), result, pool);
}

Graph lists_of(EdgeList &edges, EdgeUse use, bool reversed, WorkerPool &pool, MemoryCounter &memory) {
  Graph graph(memory);
  graph.is_weighted = edges.weighted();
  graph.nodes = edges.rank_nodes(pool, memory);
  const auto order = graph.weighted() ? order_edges<WeightedNeighbor> : order_edges<Neighbor>;
  order(edges, use, reversed, graph, pool, memory);
  return graph;
}

}  // namespace

void EdgeList::add_edge(int64_t from, int64_t to, double weight) {
  if (!is_weight(weight)) {
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

Graph transposed(const Graph &graph, WorkerPool &pool, MemoryCounter &memory) {
  Graph result(memory);
  result.is_weighted = graph.is_weighted;
  (graph.weighted() ? transpose<WeightedNeighbor> : transpose<Neighbor>)(graph, result, pool, memory);
  return result;
}

Graph build_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory) {
  return lists_of(edges, use, false, pool, memory);
}

Graph build_reversed_graph(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory) {
  return lists_of(edges, use, true, pool, memory);
}

}  // namespace simjoin
