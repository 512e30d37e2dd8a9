#include "core/graph_pagerank.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/graph_random.hpp"

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;   // entries between looks at the stop flag
constexpr size_t nodes_a_range = size_t{1} << 12;    // one worker's at a time
constexpr size_t coupons_a_range = size_t{1} << 12;  // likewise; a range takes a few milliseconds
constexpr size_t rounds_a_check = 1024;              // of walks side by side
// Walks that one worker moves side by side, so that their memory is fetched together: on an R-MAT graph of
// 548,153 nodes and 8.4 M edges 16 took 22 % of the time of one at a time, 32 hardly less.
constexpr size_t lane_count = 16;

// Returns the sum of the weights of a node's edges. Throws Error where it is not finite.
double total_weight(const Graph &graph, uint32_t node) {
  if (!graph.weighted()) return static_cast<double>(graph.end(node) - graph.begin(node));
  double total = 0;
  for (size_t i = graph.begin(node); i < graph.end(node); ++i) total += graph.weights[i];
  if (std::isfinite(total)) return total;
  throw Error(ErrorKind::invalid_argument, "the weights of the edges of a node are too large to be added up",
              "Divide all weights by the same number.");
}

// Turns weights into probabilities: those of each node add up to 1.
void normalize_weights(Graph &graph, WorkerPool &pool) {
  if (!graph.weighted()) return;
  for_ranges(pool, graph.node_count(), nodes_a_range, [&](size_t begin, size_t end) {
    for (size_t node = begin; node < end; ++node) {
      const double total = total_weight(graph, static_cast<uint32_t>(node));
      for (size_t i = graph.offsets[node]; i < graph.offsets[node + 1]; ++i) graph.weights[i] /= total;
    }
  });
}

// Returns the graph with every edge the other way round; its nodes are left to the original.
Graph transposed(const Graph &graph, const StopFlag &stop, MemoryCounter &memory) {
  Graph result(memory);
  result.is_weighted = graph.is_weighted;
  result.offsets.resize(graph.offsets.size(), 0);
  for (size_t i = 0; i < graph.targets.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    ++result.offsets[graph.targets[i] + 1];
  }
  for (size_t node = 0; node < graph.node_count(); ++node) result.offsets[node + 1] += result.offsets[node];
  result.targets.resize(graph.targets.size());
  result.weights.resize(graph.weights.size());
  Buffer<uint64_t> places(memory, graph.node_count());
  std::copy_n(result.offsets.begin(), graph.node_count(), places.begin());
  for (uint32_t node = 0; node < graph.node_count(); ++node) {
    for (size_t i = graph.begin(node); i < graph.end(node); ++i) {
      if (i % check_interval == 0) stop.check();
      const uint64_t place = places[graph.targets[i]]++;
      result.targets[place] = node;
      if (graph.weighted()) result.weights[place] = graph.weights[i];
    }
  }
  return result;
}

// Power iteration over the edges that lead to each node.
class PowerIteration {
 public:
  PowerIteration(const Graph &graph, double damping, WorkerPool &pool, MemoryCounter &memory)
      : nodes_(graph.node_count()),
        damping_(damping),
        pool_(pool),
        memory_(memory),
        incoming_(transposed(graph, pool.stop(), memory)),
        degrees_(memory, nodes_),
        ranks_(memory, nodes_, 1.0 / static_cast<double>(nodes_)),
        sent_(memory, nodes_),
        next_(memory, nodes_) {
    for (uint32_t node = 0; node < nodes_; ++node) degrees_[node] = graph.end(node) - graph.begin(node);
  }

  // Replaces the ranks by the next ones; returns the sum of absolute differences.
  double step() {
    for_ranges(pool_, nodes_, nodes_a_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        const double parts = incoming_.is_weighted ? 1.0 : static_cast<double>(degrees_[node]);
        sent_[node] = degrees_[node] == 0 ? 0.0 : ranks_[node] / parts;
      }
    });
    const double dangling =
        parallel_sum(pool_, nodes_, memory_, [&](size_t i) { return degrees_[i] == 0 ? ranks_[i] : 0.0; });
    const double base = (1 - damping_ + damping_ * dangling) / static_cast<double>(nodes_);
    for_ranges(pool_, nodes_, nodes_a_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) next_[node] = base + damping_ * received(node);
    });
    std::swap(ranks_, next_);
    return parallel_sum(pool_, nodes_, memory_, [&](size_t i) { return std::fabs(ranks_[i] - next_[i]); });
  }

  // Returns the ranks, made to add up to 1.
  Buffer<double> take_ranks() {
    const double sum = parallel_sum(pool_, nodes_, memory_, [&](size_t i) { return ranks_[i]; });
    for (double &rank : ranks_) rank /= sum;
    return std::move(ranks_);
  }

 private:
  double received(size_t node) const {
    double sum = 0;
    for (size_t i = incoming_.offsets[node]; i < incoming_.offsets[node + 1]; ++i) {
      if (i % check_interval == 0) pool_.stop().check();
      sum += sent_[incoming_.targets[i]] * incoming_.weight(i);
    }
    return sum;
  }

  const size_t nodes_;
  const double damping_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  Graph incoming_;
  Buffer<uint64_t> degrees_;
  Buffer<double> ranks_;
  Buffer<double> sent_;  // along each edge; of a weighted graph, over all edges
  Buffer<double> next_;
};

// Returns after how many steps the error is below the tolerance whatever the graph: each multiplies it by the
// damping factor, and it begins below 2.
uint64_t most_steps(double damping, double tolerance) {
  if (damping <= 0) return 1;
  return static_cast<uint64_t>(std::max(1.0, std::ceil(std::log(tolerance / 2) / std::log(damping))));
}

// Lets coupons walk and counts their visits.
class Walker {
 public:
  Walker(const Graph &graph, double damping, uint32_t coupons, uint64_t seed, WorkerPool &pool,
         MemoryCounter &memory)
      : graph_(graph),
        damping_(damping),
        coupons_(coupons),
        seed_(seed),
        stop_(pool.stop()),
        cumulative_(memory),
        visits_(memory, graph.node_count(), 0) {
    if (graph.weighted()) accumulate(pool);
  }

  // Lets the coupons [begin, end) walk; coupon i starts from the node i / coupons.
  void walk(uint64_t begin, uint64_t end) {
    Lane lanes[lane_count];
    size_t active = 0;
    for (size_t round = 0;; ++round) {
      if (round % rounds_a_check == 0) stop_.check();
      while (active < lane_count && begin < end) lanes[active++] = start(begin++);
      if (active == 0) return;
      for (size_t i = 0; i < active; ++i) {
        __builtin_prefetch(&visits_[lanes[i].node], 1);
        __builtin_prefetch(&graph_.offsets[lanes[i].node]);
      }
      for (size_t i = 0; i < active;) {
        if (leave(lanes[i]))
          ++i;
        else
          lanes[i] = lanes[--active];
      }
      for (size_t i = 0; i < active; ++i)
        if (lanes[i].edge != no_edge) lanes[i].node = graph_.targets[lanes[i].edge];
    }
  }

  const Buffer<uint64_t> &visits() const { return visits_; }

 private:
  static constexpr uint64_t no_edge = UINT64_MAX;
  struct Lane {
    WalkRandom random{0, 0};
    uint32_t node;
    uint64_t edge;  // to be followed; no_edge where the node is that to be visited
  };

  void accumulate(WorkerPool &pool) {
    cumulative_.resize(graph_.weights.size());
    for_ranges(pool, graph_.node_count(), nodes_a_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        double sum = 0;
        for (size_t i = graph_.offsets[node]; i < graph_.offsets[node + 1]; ++i)
          cumulative_[i] = sum += graph_.weights[i];
      }
    });
  }

  Lane start(uint64_t coupon) const {
    return {WalkRandom(seed_, coupon), static_cast<uint32_t>(coupon / coupons_), no_edge};
  }

  // Counts the visit and chooses where to go next; false where the walk ends.
  bool leave(Lane &lane) {
    std::atomic_ref<uint64_t>(visits_[lane.node]).fetch_add(1, std::memory_order_relaxed);
    if (lane.random.fraction() >= damping_) return false;
    const size_t begin = graph_.begin(lane.node), end = graph_.end(lane.node);
    if (begin == end) {
      lane.edge = no_edge;
      lane.node = static_cast<uint32_t>(lane.random.below(graph_.node_count()));
      return true;
    }
    lane.edge =
        graph_.weighted() ? weighted_edge(begin, end, lane.random) : begin + lane.random.below(end - begin);
    __builtin_prefetch(&graph_.targets[lane.edge]);
    return true;
  }

  // Returns one of the edges [begin, end), each in proportion to its weight.
  size_t weighted_edge(size_t begin, size_t end, WalkRandom &random) const {
    const double *first = cumulative_.begin() + begin, *last = cumulative_.begin() + end - 1;
    return begin + static_cast<size_t>(std::upper_bound(first, last, random.fraction() * *last) - first);
  }

  const Graph &graph_;
  const double damping_;
  const uint32_t coupons_;
  const uint64_t seed_;
  const StopFlag &stop_;
  Buffer<double> cumulative_;  // probabilities of each node's edges up to here
  Buffer<uint64_t> visits_;
};

}  // namespace

Ranks pagerank_power(EdgeList &edges, EdgeUse use, double damping, double tolerance, WorkerPool &pool,
                     MemoryCounter &memory) {
  Ranks result(memory);
  Graph graph = build_graph(edges, use, pool, memory);
  if (graph.node_count() == 0) return result;
  normalize_weights(graph, pool);
  PowerIteration iteration(graph, damping, pool, memory);
  result.nodes = std::move(graph.nodes);
  for (uint64_t steps = most_steps(damping, tolerance); steps > 0; --steps)
    if (iteration.step() * damping <= tolerance * (1 - damping)) break;
  result.ranks = iteration.take_ranks();
  return result;
}

Ranks pagerank_random_walk(EdgeList &edges, EdgeUse use, double damping, uint32_t coupons, uint64_t seed,
                           WorkerPool &pool, MemoryCounter &memory) {
  Ranks result(memory);
  Graph graph = build_graph(edges, use, pool, memory);
  const uint64_t nodes = graph.node_count();
  if (nodes == 0) return result;
  normalize_weights(graph, pool);
  Walker walker(graph, damping, coupons, seed, pool, memory);
  for_ranges(pool, nodes * coupons, coupons_a_range,
             [&](size_t begin, size_t end) { walker.walk(begin, end); });
  const Buffer<uint64_t> &visits = walker.visits();
  uint64_t all = 0;
  for (uint64_t count : visits) all += count;
  result.ranks.resize(nodes);
  for (size_t i = 0; i < nodes; ++i)
    result.ranks[i] = static_cast<double>(visits[i]) / static_cast<double>(all);
  result.nodes = std::move(graph.nodes);
  return result;
}

}  // namespace simjoin
