#include "core/graph/pagerank.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/ordered_sum.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/graph/random.hpp"

namespace simjoin {
namespace {

constexpr size_t nodes_per_range = size_t{1} << 12;    // that one worker takes at a time
constexpr size_t coupons_per_range = size_t{1} << 12;  // that one worker takes at a time: a few milliseconds
constexpr size_t rounds_per_check = 1024;              // of walks side by side
// The walks that one worker moves side by side, so that their memory is fetched together. On an R-MAT graph
// of 548,153 nodes and 8.4 M edges, 16 took 22 % of the time of one at a time, and 32 hardly less.
constexpr size_t lane_count = 16;

// Turns weights into probabilities that add up to 1 for each node.
void normalize_weights(Graph &graph, WorkerPool &pool) {
  if (!graph.weighted()) return;
  for_ranges(pool, graph.node_count(), nodes_per_range, [&](size_t begin, size_t end) {
    for (size_t node = begin; node < end; ++node) {
      double *weights = graph.weights.data() + graph.offsets[node];
      const size_t count = graph.offsets[node + 1] - graph.offsets[node];
      const double total = ordered_sum(count, pool.stop(), [&](size_t i) { return weights[i]; });
      if (!std::isfinite(total)) throw_weights_too_large();
      for (size_t i = 0; i < count; ++i) weights[i] /= total;
    }
  });
}

// Returns the edges into each node, with probabilities for weights.
Graph incoming_edges(EdgeList &edges, EdgeUse use, WorkerPool &pool, MemoryCounter &memory) {
  if (!edges.weighted()) return build_reversed_graph(edges, use, pool, memory);
  Graph graph = build_graph(edges, use, pool, memory);
  normalize_weights(graph, pool);
  Graph incoming = transposed(graph, pool, memory);
  incoming.nodes = std::move(graph.nodes);
  return incoming;
}

// Power iteration over the incoming edges of each node.
class PowerIteration {
 public:
  PowerIteration(Graph &incoming, double damping, WorkerPool &pool, MemoryCounter &memory)
      : nodes_(incoming.node_count()),
        damping_(damping),
        pool_(pool),
        memory_(memory),
        incoming_(incoming),
        degrees_(memory),
        ranks_(memory),
        sent_(memory, nodes_),
        next_(memory, nodes_) {
    fill(degrees_, nodes_, uint64_t{0}, pool);
    for_ranges(pool, incoming.targets.size(), entries_per_range, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        std::atomic_ref<uint64_t>(degrees_[incoming.targets[i]]).fetch_add(1, std::memory_order_relaxed);
    });
    fill(ranks_, nodes_, 1.0 / static_cast<double>(nodes_), pool);
  }

  // Replaces the ranks by the next ones. Returns the sum of absolute differences.
  double step() {
    for_ranges(pool_, nodes_, nodes_per_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        const uint64_t degree = degrees_[node];
        sent_[node] =
            degree == 0 ? 0.0 : ranks_[node] / (incoming_.is_weighted ? 1.0 : static_cast<double>(degree));
      }
    });
    const double dangling = parallel_sum(
        pool_, nodes_, memory_, [&](size_t node) { return degrees_[node] == 0 ? ranks_[node] : 0.0; });
    const double base = (1 - damping_ + damping_ * dangling) / static_cast<double>(nodes_);
    for_ranges(pool_, nodes_, nodes_per_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) next_[node] = base + damping_ * received(node);
    });
    std::swap(ranks_, next_);
    return parallel_sum(pool_, nodes_, memory_, [&](size_t i) { return std::fabs(ranks_[i] - next_[i]); });
  }

  // Returns the ranks, scaled so that they add up to 1.
  Buffer<double> take_ranks() {
    const double sum = parallel_sum(pool_, nodes_, memory_, [&](size_t i) { return ranks_[i]; });
    for_ranges(pool_, nodes_, entries_per_range, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ranks_[i] /= sum;
    });
    return std::move(ranks_);
  }

 private:
  double received(size_t node) const {
    const size_t begin = incoming_.offsets[node], count = incoming_.offsets[node + 1] - begin;
    const uint32_t *sources = incoming_.targets.data() + begin;
    if (!incoming_.is_weighted)
      return ordered_sum(count, pool_.stop(), [&](size_t i) { return sent_[sources[i]]; });
    const double *weights = incoming_.weights.data() + begin;
    return ordered_sum(count, pool_.stop(), [&](size_t i) { return sent_[sources[i]] * weights[i]; });
  }

  const size_t nodes_;
  const double damping_;
  WorkerPool &pool_;
  MemoryCounter &memory_;
  const Graph &incoming_;
  Buffer<uint64_t> degrees_;  // the outgoing edges of each node
  Buffer<double> ranks_;
  Buffer<double> sent_;  // along each edge; in a weighted graph, over all edges
  Buffer<double> next_;
};

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
        visits_(memory) {
    fill(visits_, graph.node_count(), uint64_t{0}, pool);
    if (graph.weighted()) accumulate(pool);
  }

  // Lets the coupons [begin, end) walk; coupon i starts from the node i / coupons.
  void walk(uint64_t begin, uint64_t end) {
    Lane lanes[lane_count];
    size_t active = 0;
    for (size_t round = 0;; ++round) {
      if (round % rounds_per_check == 0) stop_.check();
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
    uint64_t edge;  // the edge to follow; no_edge if the node is the next to visit
  };

  void accumulate(WorkerPool &pool) {
    cumulative_.resize(graph_.weights.size());
    for_ranges(pool, graph_.node_count(), nodes_per_range, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        double sum = 0;
        for (size_t i = graph_.offsets[node]; i < graph_.offsets[node + 1]; ++i) {
          stop_.check_at(i);
          cumulative_[i] = sum += graph_.weights[i];
        }
      }
    });
  }

  Lane start(uint64_t coupon) const {
    return {WalkRandom(seed_, coupon), static_cast<uint32_t>(coupon / coupons_), no_edge};
  }

  // Counts the visit and chooses the next edge. Returns false if the walk ends.
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

  // Returns one of the edges [begin, end), with a probability in proportion to its weight.
  size_t weighted_edge(size_t begin, size_t end, WalkRandom &random) const {
    const double *first = cumulative_.begin() + begin, *last = cumulative_.begin() + end - 1;
    return begin + static_cast<size_t>(std::upper_bound(first, last, random.fraction() * *last) - first);
  }

  const Graph &graph_;
  const double damping_;
  const uint32_t coupons_;
  const uint64_t seed_;
  const StopFlag &stop_;
  Buffer<double> cumulative_;  // probabilities of each node's edges, summed up to here
  Buffer<uint64_t> visits_;
};

}  // namespace

void throw_weights_too_large() {
  throw Error(ErrorKind::invalid_argument, "the weights of the edges of a node are too large to be added up",
              "Divide all weights by the same number.");
}

uint64_t most_power_steps(double damping, double tolerance) {
  if (damping <= 0) return 1;
  return static_cast<uint64_t>(std::max(1.0, std::ceil(std::log(tolerance / 2) / std::log(damping))));
}

Ranks pagerank_power(EdgeList &edges, EdgeUse use, double damping, double tolerance, WorkerPool &pool,
                     MemoryCounter &memory, std::atomic<double> *share_done) {
  Ranks result(memory);
  Graph incoming = incoming_edges(edges, use, pool, memory);
  if (incoming.node_count() == 0) return result;
  PowerIteration iteration(incoming, damping, pool, memory);
  const double enough = tolerance * (1 - damping);
  for (uint64_t steps = most_power_steps(damping, tolerance); steps > 0; --steps) {
    const double error = iteration.step() * damping;
    if (error <= enough) break;
    // Each step divides the error by about as much.
    if (share_done != nullptr) *share_done = std::clamp(std::log(error / 2) / std::log(enough / 2), 0.0, 1.0);
  }
  result.ranks = iteration.take_ranks();
  result.nodes = std::move(incoming.nodes);
  return result;
}

Ranks pagerank_random_walk(EdgeList &edges, EdgeUse use, double damping, uint32_t coupons, uint64_t seed,
                           WorkerPool &pool, MemoryCounter &memory, std::atomic<double> *share_done) {
  Ranks result(memory);
  Graph graph = build_graph(edges, use, pool, memory);
  const uint64_t nodes = graph.node_count();
  if (nodes == 0) return result;
  normalize_weights(graph, pool);
  Walker walker(graph, damping, coupons, seed, pool, memory);
  const auto walks = static_cast<double>(nodes * coupons);
  for_ranges(pool, nodes * coupons, coupons_per_range, [&](size_t begin, size_t end) {
    // Ranges are handed out in ascending order.
    if (share_done != nullptr) *share_done = static_cast<double>(begin) / walks;
    walker.walk(begin, end);
  });
  const Buffer<uint64_t> &visits = walker.visits();
  std::atomic<uint64_t> all{0};
  for_ranges(pool, nodes, entries_per_range, [&](size_t begin, size_t end) {
    uint64_t some = 0;
    for (size_t i = begin; i < end; ++i) some += visits[i];
    all += some;
  });
  result.ranks.resize(nodes);
  for_ranges(pool, nodes, entries_per_range, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      result.ranks[i] = static_cast<double>(visits[i]) / static_cast<double>(all);
  });
  result.nodes = std::move(graph.nodes);
  return result;
}

}  // namespace simjoin
