#include "cuda/graph/graph_device.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "cuda/graph/edges.hpp"
#include "cuda/graph/kernels.hpp"
#include "cuda/graph/sums.hpp"
#include "cuda/graph/transfer.hpp"

namespace simjoin {
namespace gpu {
namespace {

constexpr uint64_t edges_per_launch = uint64_t{1} << 25;  // edges united by a launch: some milliseconds

// The state of one call of a graph function: the device, its transfers, and a clock.
class Session {
 public:
  explicit Session(const HostSide &host)
      : host_(host),
        noted(host.figures != nullptr ? *host.figures : figures_),
        device(host.gpu_memory_limit),
        staging(device, host.pool) {
    noted = {};
    last_.record(device.stream());
  }

  const StopFlag &stop() const { return host_.pool.stop(); }
  // Adds the milliseconds since the last call, after all earlier work of the stream.
  void note(double &milliseconds) {
    next_.record(device.stream());
    next_.wait();
    milliseconds += next_.since(last_);
    last_.record(device.stream());
    noted.device_memory_peak = device.memory_peak();
    stop().check();
  }
  // Copies the array to the host.
  template <typename To, typename From>
  Buffer<To> take(const DeviceBuffer<From> &from) {
    static_assert(sizeof(To) == sizeof(From));
    Buffer<To> to(host_.memory, from.size());
    staging.download(to.data(), reinterpret_cast<const To *>(from.data()), from.size());
    return to;
  }

 private:
  const HostSide &host_;
  GraphFigures figures_;  // for callers that want none

 public:
  GraphFigures &noted;
  Device device;
  Staging staging;

 private:
  Event last_, next_;
};

// Returns the sorted entries of the edges. `nodes` gets the nodes on the host.
Entries upload_entries(Session &session, const EdgeList &edges, EdgeUse use, Buffer<int64_t> &nodes) {
  RankedEdges ranked = upload_edges(session.device, session.staging, edges, session.stop());
  session.note(session.noted.upload_ms);
  nodes = session.take<int64_t>(ranked.nodes);
  session.note(session.noted.download_ms);
  return sorted_entries(session.device, session.staging, ranked, edges, use != EdgeUse::directed,
                        session.stop());
}

// Returns the adjacency lists of the entries, with weights turned into probabilities.
DeviceGraph probability_lists(Session &session, const Entries &entries) {
  DeviceGraph graph = lists_of(session.device, entries);
  if (graph.weighted() && !normalize_weights(session.device, graph)) throw_weights_too_large();
  return graph;
}

// Power iteration: the twin of PowerIteration in core/graph/pagerank.cpp.
class DevicePower {
 public:
  DevicePower(Session &session, Entries entries, double damping)
      : session_(session), nodes_(entries.nodes), damping_(damping), sums_(session.device, nodes_) {
    Device &device = session.device;
    DeviceGraph outgoing = probability_lists(session, entries);
    session.stop().check();
    turn_around(device, entries, outgoing);
    outgoing.targets.reset();
    outgoing.weights.reset();
    incoming_ = lists_of(device, entries);
    offsets_ = std::move(outgoing.offsets);
    entries = {};
    received_.emplace(device, incoming_);
    for (DeviceBuffer<double> *vector : {&ranks_, &next_, &sent_})
      *vector = DeviceBuffer<double>(device, nodes_);
    set_entries(device, ranks_.data(), nodes_, 1.0 / static_cast<double>(nodes_));
  }

  double step() {
    Device &device = session_.device;
    send_ranks(device, offsets_.data(), nodes_, incoming_.weighted(), ranks_.data(), sent_.data());
    const double dangling = sums_.without_list(offsets_.data(), ranks_.data());
    const double base = (1 - damping_ + damping_ * dangling) / static_cast<double>(nodes_);
    received_->add_up(sent_.data(), next_.data());
    damp_ranks(device, nodes_, base, damping_, next_.data());
    std::swap(ranks_, next_);
    return sums_.distance(ranks_.data(), next_.data());
  }

  const DeviceBuffer<double> &ranks() {
    const double sum = sums_.total(ranks_.data());
    divide_entries(session_.device, ranks_.data(), nodes_, sum);
    return ranks_;
  }

 private:
  Session &session_;
  const uint32_t nodes_;
  const double damping_;
  VectorSums sums_;
  DeviceGraph incoming_;
  DeviceBuffer<uint64_t> offsets_;  // of the lists of outgoing edges
  std::optional<ListSums> received_;
  DeviceBuffer<double> ranks_, next_, sent_;
};

// The power method: the twin of PowerMethod in core/graph/spectrum.cpp.
class DeviceSpectrum {
 public:
  DeviceSpectrum(Session &session, const DeviceGraph &graph)
      : session_(session),
        graph_(graph),
        list_sums_(session.device, graph),
        sums_(session.device, graph.nodes),
        first_(session.device, graph.nodes),
        second_(session.device, graph.nodes),
        product_(session.device, graph.nodes) {}

  // Returns the bound of the spectral radius.
  double run() {
    Device &device = session_.device;
    const uint32_t nodes = graph_.nodes;
    set_entries(device, first_.data(), nodes, 1.0);
    normalize(first_);
    start_second(device, second_.data(), nodes);
    double bound = largest_ratio();
    for (int iteration = 0; iteration < spectrum_iterations && bound > 0; ++iteration) {
      session_.stop().check();
      const double shift = bound / 2;
      step(first_, shift);
      normalize(first_);
      raise_entries(device, first_.data(), nodes, least_entry);
      bound = std::min(bound, largest_ratio());
      step(second_, shift);
      take_out(device, second_.data(), nodes, sums_.dot(first_.data(), second_.data()), first_.data());
      if (!normalize(second_)) break;
    }
    return bound;
  }
  const DeviceBuffer<double> &first() const { return first_; }
  const DeviceBuffer<double> &second() const { return second_; }

 private:
  bool normalize(DeviceBuffer<double> &vector) {
    const double length = std::sqrt(sums_.dot(vector.data(), vector.data()));
    if (!(length > 0)) return false;
    divide_entries(session_.device, vector.data(), graph_.nodes, length);
    return true;
  }
  void step(DeviceBuffer<double> &vector, double shift) {
    list_sums_.add_up(vector.data(), product_.data());
    add_shifted(session_.device, vector.data(), graph_.nodes, product_.data(), shift);
  }
  double largest_ratio() {
    list_sums_.add_up(first_.data(), product_.data());
    return sums_.largest_ratio(product_.data(), first_.data());
  }

  Session &session_;
  const DeviceGraph &graph_;
  ListSums list_sums_;
  VectorSums sums_;
  DeviceBuffer<double> first_, second_, product_;
};

class CudaGraphs final : public GraphDevice {
 public:
  Components components(const EdgeList &edges, const HostSide &host) override {
    Components result(host.memory);
    if (edges.size() + edges.lone().size() == 0) return result;
    Session session(host);
    const RankedEdges ranked = upload_edges(session.device, session.staging, edges, session.stop());
    session.note(session.noted.upload_ms);
    const auto nodes = static_cast<uint32_t>(ranked.nodes.size());
    DeviceSets sets(session.device, nodes);
    for (uint64_t begin = 0; begin < ranked.count; begin += edges_per_launch) {
      sets.unite(ranked, begin, std::min(ranked.count, begin + edges_per_launch));
      session.device.synchronize();
      session.stop().check();
    }
    sets.flatten();
    DeviceBuffer<int64_t> names(session.device, nodes);
    sets.name(ranked.nodes, names.data());
    session.note(session.noted.compute_ms);
    result.nodes = session.take<int64_t>(ranked.nodes);
    result.components = session.take<int64_t>(names);
    session.note(session.noted.download_ms);
    return result;
  }

  Ranks pagerank_power(const EdgeList &edges, EdgeUse use, double damping, double tolerance,
                       const HostSide &host) override {
    Ranks result(host.memory);
    if (edges.size() + edges.lone().size() == 0) return result;
    Session session(host);
    DevicePower power(session, upload_entries(session, edges, use, result.nodes), damping);
    session.note(session.noted.lists_ms);
    for (uint64_t steps = most_power_steps(damping, tolerance); steps > 0; --steps) {
      session.stop().check();
      ++session.noted.steps;
      if (power.step() * damping <= tolerance * (1 - damping)) break;
    }
    const DeviceBuffer<double> &ranks = power.ranks();
    session.note(session.noted.compute_ms);
    result.ranks = session.take<double>(ranks);
    session.note(session.noted.download_ms);
    return result;
  }

  Ranks pagerank_random_walk(const EdgeList &edges, EdgeUse use, double damping, uint32_t coupons,
                             uint64_t seed, const HostSide &host) override {
    Ranks result(host.memory);
    if (edges.size() + edges.lone().size() == 0) return result;
    Session session(host);
    Device &device = session.device;
    const DeviceGraph graph = [&] {
      const Entries entries = upload_entries(session, edges, use, result.nodes);
      return probability_lists(session, entries);
    }();
    DeviceBuffer<double> cumulative(device, graph.weights.size());
    if (graph.weighted()) accumulate_weights(device, graph, cumulative.data());
    session.note(session.noted.lists_ms);
    DeviceBuffer<unsigned long long> visits(device, graph.nodes);
    visits.fill(0);
    WalkLanes lanes(device, uint64_t{graph.nodes} * coupons, seed);
    while (!lanes.walk(graph, cumulative.data(), damping, coupons, visits.data())) session.stop().check();
    session.noted.steps = add_up_visits(device, visits.data(), graph.nodes);
    DeviceBuffer<double> shares(device, graph.nodes);
    share_visits(device, visits.data(), graph.nodes, static_cast<double>(session.noted.steps), shares.data());
    session.note(session.noted.compute_ms);
    result.ranks = session.take<double>(shares);
    session.note(session.noted.download_ms);
    return result;
  }

  Spectrum leading_eigenvectors(const Graph &graph, const HostSide &host) override {
    Spectrum result(host.memory);
    Session session(host);
    Device &device = session.device;
    DeviceGraph copy;
    copy.nodes = graph.node_count();
    copy.offsets = DeviceBuffer<uint64_t>(device, graph.offsets.size());
    copy.targets = DeviceBuffer<uint32_t>(device, graph.targets.size());
    copy.weights = DeviceBuffer<double>(device, graph.weights.size());
    session.staging.upload(copy.offsets.data(), graph.offsets.size(),
                           [&](size_t i) { return graph.offsets[i]; });
    session.staging.upload(copy.targets.data(), graph.targets.size(),
                           [&](size_t i) { return graph.targets[i]; });
    session.staging.upload(copy.weights.data(), graph.weights.size(),
                           [&](size_t i) { return graph.weights[i]; });
    session.note(session.noted.upload_ms);
    DeviceSpectrum spectrum(session, copy);
    result.radius_bound = spectrum.run();
    session.note(session.noted.compute_ms);
    result.first = session.take<double>(spectrum.first());
    result.second = session.take<double>(spectrum.second());
    session.note(session.noted.download_ms);
    return result;
  }
};

}  // namespace
}  // namespace gpu

GraphDevice &cuda_graphs() {
  static gpu::CudaGraphs graphs;
  return graphs;
}

}  // namespace simjoin
