#include "core/graph/densest.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/parallel_ranges.hpp"
#include "core/graph/densest_candidates.hpp"
#include "core/graph/rank_one_bound.hpp"
#include "core/graph/spectrum.hpp"

namespace simjoin {
namespace {

// Directions tried in the plane of the two eigenvectors: their largest entries are candidates. Twice as many
// changed densities by less than 1 % on R-MAT graphs and planted subgraphs of 8,192 nodes, k from 5 to 1000.
constexpr size_t directions = 64;
// Rounding may make a bound lower than the density by this share of it.
constexpr double rounding = 1e-9;

// The result of removing the node of least degree, again and again.
struct Peeling {
  explicit Peeling(MemoryCounter &memory) : order(memory), degrees(memory) {}

  Buffer<uint32_t> order;  // of removal
  Buffer<double> degrees;  // of each node when it was removed, in that order
};

Buffer<double> weighted_degrees(const Graph &graph, const StopFlag &stop, MemoryCounter &memory) {
  Buffer<double> degrees(memory, graph.node_count(), 0.0);
  for (uint32_t node = 0; node < graph.node_count(); ++node) {
    stop.check_at(node);
    for (size_t i = graph.begin(node); i < graph.end(node); ++i) {
      stop.check_at(i);
      degrees[node] += graph.weight(i);
    }
  }
  return degrees;
}

double heaviest_weight(const Graph &graph, const StopFlag &stop) {
  if (!graph.weighted()) return graph.targets.empty() ? 0 : 1;
  double heaviest = 0;
  for (size_t i = 0; i < graph.weights.size(); ++i) {
    stop.check_at(i);
    heaviest = std::max(heaviest, graph.weights[i]);
  }
  return heaviest;
}

// The remaining nodes of a graph without weights, ordered by degree. A degree is lowered by one in constant
// time (as Batagelj and Zaversnik: An O(m) algorithm for cores decomposition of networks, 2003).
class DegreeOrder {
 public:
  DegreeOrder(const Graph &graph, const StopFlag &stop, MemoryCounter &memory)
      : degrees_(memory, graph.node_count()),
        order_(memory, graph.node_count()),
        places_(memory, graph.node_count()),
        firsts_(memory) {
    uint32_t most = 0;
    for (uint32_t node = 0; node < graph.node_count(); ++node) {
      stop.check_at(node);
      degrees_[node] = static_cast<uint32_t>(graph.end(node) - graph.begin(node));
      most = std::max(most, degrees_[node]);
    }
    firsts_.resize(size_t{most} + 2, 0);
    for (const uint32_t degree : degrees_) ++firsts_[degree + 1];
    for (size_t degree = 1; degree < firsts_.size(); ++degree) firsts_[degree] += firsts_[degree - 1];
    Buffer<uint32_t> next(memory, firsts_.size());
    std::copy(firsts_.begin(), firsts_.end(), next.begin());
    for (uint32_t node = graph.node_count();
         node-- > 0;) {  // among equal degrees the larger node comes first
      stop.check_at(node);
      places_[node] = next[degrees_[node]]++;
      order_[places_[node]] = node;
    }
  }

  uint32_t degree(uint32_t node) const { return degrees_[node]; }
  bool remains(uint32_t node) const { return places_[node] >= removed_; }
  // Removes and returns the first of the remaining nodes.
  uint32_t take() { return order_[removed_++]; }
  // Lowers the degree of a remaining node: it changes places with the first one of that degree.
  void lower(uint32_t node) {
    const uint32_t first = std::max(firsts_[degrees_[node]], removed_), other = order_[first];
    std::swap(order_[first], order_[places_[node]]);
    std::swap(places_[other], places_[node]);
    firsts_[degrees_[node]--] = first + 1;
  }

 private:
  Buffer<uint32_t> degrees_;
  Buffer<uint32_t> order_;
  Buffer<uint32_t> places_;
  Buffer<uint32_t>
      firsts_;  // where the nodes of each degree, or of larger ones, begin, unless they are removed
  uint32_t removed_ = 0;
};

Peeling peel_unweighted(const Graph &graph, const StopFlag &stop, MemoryCounter &memory) {
  DegreeOrder nodes(graph, stop, memory);
  Peeling result(memory);
  for (uint32_t step = 0; step < graph.node_count(); ++step) {
    stop.check_at(step);
    const uint32_t node = nodes.take();
    result.order.push_back(node);
    result.degrees.push_back(nodes.degree(node));
    for (size_t i = graph.begin(node); i < graph.end(node); ++i) {
      stop.check_at(i);
      if (nodes.remains(graph.targets[i])) nodes.lower(graph.targets[i]);
    }
  }
  return result;
}

Peeling peel_weighted(const Graph &graph, const StopFlag &stop, MemoryCounter &memory) {
  const auto later = [](const Scored &a, const Scored &b) {  // among equal degrees the larger node goes first
    return a.score != b.score ? a.score > b.score : a.node < b.node;
  };
  Buffer<double> degrees = weighted_degrees(graph, stop, memory);
  Buffer<Scored> heap(memory);
  for (uint32_t node = 0; node < graph.node_count(); ++node) heap.push_back({degrees[node], node});
  std::make_heap(heap.begin(), heap.end(), stoppable(stop, later));
  Peeling result(memory);
  Buffer<char> removed(memory, graph.node_count(), 0);
  for (size_t steps = 0; !heap.empty(); ++steps) {
    stop.check_at(steps);
    std::pop_heap(heap.begin(), heap.end(), later);
    const uint32_t node = heap.back().node;
    heap.resize(heap.size() - 1);
    if (removed[node] != 0) continue;  // an older entry of the node
    removed[node] = 1;
    result.order.push_back(node);
    result.degrees.push_back(std::max(degrees[node], 0.0));
    for (size_t i = graph.begin(node); i < graph.end(node); ++i) {
      stop.check_at(i);
      const uint32_t neighbor = graph.targets[i];
      if (removed[neighbor] != 0) continue;
      degrees[neighbor] -= graph.weight(i);
      heap.push_back({degrees[neighbor], neighbor});
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  return result;
}

Candidate last_nodes(const Peeling &peeling, size_t k) {
  Candidate candidate;
  candidate.nodes.assign(peeling.order.end() - k, peeling.order.end());
  std::sort(candidate.nodes.begin(), candidate.nodes.end());
  return candidate;
}

// Returns the sum over the k largest values, the i-th largest capped at cap(i).
template <typename Cap>
double capped_sum(Buffer<double> values, size_t k, const StopFlag &stop, Cap &&cap) {
  std::nth_element(values.begin(), values.begin() + (k - 1), values.end(), stoppable(stop, std::greater<>()));
  std::sort(values.begin(), values.begin() + k, stoppable(stop, std::greater<>()));
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += std::min(values[i], cap(i));
  return sum;
}

// Returns a bound of the mean weighted degree of k nodes, the least of four:
// - the largest eigenvalue;
// - the rank-one bound of a small graph;
// - the k largest degrees, each capped at that of a node with k - 1 heaviest edges;
// - the bound of peeling: the end of an edge that was removed first counted the edge in its degree. When i
// nodes of the subgraph were left, such an end had at most i - 1 of its edges.
double density_bound(const Graph &graph, const Peeling &peeling, const Spectrum &spectrum, size_t k,
                     WorkerPool &pool, MemoryCounter &memory) {
  const StopFlag &stop = pool.stop();
  const double heaviest = heaviest_weight(graph, stop);
  const auto size = static_cast<double>(k);
  const double degrees = capped_sum(weighted_degrees(graph, stop, memory), k, stop,
                                    [&](size_t) { return (size - 1) * heaviest; });
  Buffer<double> removed(memory, peeling.degrees.size());
  std::copy(peeling.degrees.begin(), peeling.degrees.end(), removed.begin());
  const double peeled = capped_sum(std::move(removed), k, stop,
                                   [&](size_t i) { return (size - 1 - static_cast<double>(i)) * heaviest; });
  const double bound = std::min({spectrum.radius_bound, degrees / size, 2 * peeled / size});
  return with_rank_one_bound(bound, graph, spectrum, k, pool, memory);
}

// Returns the densest of the candidates that the two eigenvectors give.
Candidate bilinear_candidate(const Graph &graph, const Spectrum &spectrum, size_t k, WorkerPool &pool,
                             MemoryCounter &memory) {
  std::vector<std::unique_ptr<Finder>> finders(static_cast<size_t>(pool.workers()));
  std::mutex mutex;
  Candidate best;
  pool.parallel(directions, [&](int worker, size_t direction) {
    auto &finder = finders[static_cast<size_t>(worker)];
    if (!finder) finder = std::make_unique<Finder>(graph, k, pool.stop(), memory);
    const double angle = 2 * std::numbers::pi * static_cast<double>(direction) / directions;
    const double x = std::cos(angle), y = std::sin(angle);
    Candidate candidate =
        finder->best([&](size_t node) { return x * spectrum.first[node] + y * spectrum.second[node]; });
    const std::lock_guard lock(mutex);
    if (denser(candidate, best)) best = std::move(candidate);
  });
  return best;
}

// Divides all weights by a power of two, so that the heaviest is about 1 and nothing overflows. Returns the
// exponent of the power.
int scale_weights(Graph &graph, const StopFlag &stop) {
  int exponent;
  std::frexp(heaviest_weight(graph, stop), &exponent);
  for (size_t i = 0; i < graph.weights.size(); ++i) {
    stop.check_at(i);
    graph.weights[i] = std::ldexp(graph.weights[i], -exponent);
  }
  return graph.weighted() ? exponent : 0;
}

}  // namespace

DenseSubgraph densest_subgraph(EdgeList &edges, uint32_t k, DensestMethod method, WorkerPool &pool,
                               MemoryCounter &memory, const FindSpectrum &find_spectrum) {
  DenseSubgraph result(memory);
  Graph graph = build_graph(edges, EdgeUse::simple, pool, memory);
  const size_t size = std::min<size_t>(k, graph.node_count());
  if (size == 0) return result;
  const int exponent = scale_weights(graph, pool.stop());
  const Spectrum spectrum = find_spectrum(graph, pool, memory);
  const Peeling peeling = (graph.weighted() ? peel_weighted : peel_unweighted)(graph, pool.stop(), memory);
  Candidate best;
  if (method != DensestMethod::greedy) best = bilinear_candidate(graph, spectrum, size, pool, memory);
  Finder finder(graph, size, pool.stop(), memory);
  if (method != DensestMethod::bilinear) {
    Candidate candidate = last_nodes(peeling, size);
    finder.weigh(candidate);
    if (denser(candidate, best)) best = std::move(candidate);
  }
  for (const uint32_t node : best.nodes) result.nodes.push_back(graph.nodes[node]);
  for (const double degree : finder.weigh(best)) result.degrees.push_back(std::ldexp(degree, exponent));
  const double density = 2 * best.weight / static_cast<double>(size);
  double bound = density_bound(graph, peeling, spectrum, size, pool, memory);
  if (bound < density && bound > density * (1 - rounding)) bound = density;
  result.weight = std::ldexp(best.weight, exponent);
  result.density = std::ldexp(density, exponent);
  result.upper_bound = std::ldexp(bound, exponent);
  if (!std::isfinite(result.weight) || !std::isfinite(result.upper_bound))
    throw Error(ErrorKind::invalid_argument, "the weights of the edges are too large to be added up",
                "Divide all weights by the same number.");
  return result;
}

}  // namespace simjoin
