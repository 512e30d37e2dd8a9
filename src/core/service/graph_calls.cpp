#include "core/service/graph_calls.hpp"

#include <algorithm>
#include <bit>

#include "core/base/weight.hpp"

namespace simjoin {
namespace {

// The arrays of a function on edges: their ends, lone nodes, weights. The result: nodes, and a value of each.
ServiceCall &give_edges(ServiceCall &call, const EdgeList &edges) {
  return call.input(edges.ends()).input(edges.lone()).input(edges.weights());
}

// Returns how many nodes the edges have at most.
size_t most_nodes(const EdgeList &edges) {
  const size_t named = edges.ends().size() + edges.lone().size();
  if (named == 0) return 0;
  const uint64_t between = static_cast<uint64_t>(edges.greatest()) - static_cast<uint64_t>(edges.least());
  return between < named ? between + 1 : named;
}

// Runs a call whose result has a value for each node.
template <class Value>
void run(ServiceCall &call, const EdgeList &edges, const HostSide &host, Buffer<int64_t> &nodes,
         Buffer<Value> &values) {
  give_edges(call, edges).output(nodes, most_nodes(edges)).output(values, most_nodes(edges));
  call.run(host.pool.stop());
  if (nodes.size() != values.size() || !std::is_sorted(nodes.begin(), nodes.end())) call.throw_ended();
}

EdgeList edges_of(const Call &call) {
  if (call.sent.count != 3) throw_senseless();
  return {call.take<int64_t>(0), call.take<int64_t>(1), call.take<double>(2)};
}

HostSide host_of(const Call &call) {
  return {call.pool, call.memory, call.sent.device_memory};
}

GraphDevice &graphs_of(const Call &call) {
  call.host.drop_kept();
  return *call.host.backend().graphs();
}

// Returns the graph of a call, whose lists were checked. The functions need no names of its nodes.
Graph graph_of(const Call &call) {
  Graph graph(call.memory);
  graph.is_weighted = call.sent.numbers[0] != 0;
  graph.offsets = call.take<uint64_t>(0);
  graph.targets = call.take<uint32_t>(1);
  graph.weights = call.take<double>(2);
  const size_t nodes = graph.offsets.size() - 1;
  if (graph.offsets.size() < 2 || nodes >= UINT32_MAX || graph.offsets[0] != 0 ||
      graph.offsets.back() != graph.targets.size() ||
      !std::is_sorted(graph.offsets.begin(), graph.offsets.end()) ||
      graph.weights.size() != (graph.is_weighted ? graph.targets.size() : 0))
    throw_senseless();
  const auto is_node = [&](uint32_t target) { return target < nodes; };
  if (!std::all_of(graph.targets.begin(), graph.targets.end(), is_node) ||
      !std::all_of(graph.weights.begin(), graph.weights.end(), is_weight))
    throw_senseless();
  graph.nodes.resize(nodes);
  return graph;
}

}  // namespace

Components ServiceGraphs::components(const EdgeList &edges, const HostSide &host) {
  ServiceCall call(connect_, Function::components, host.gpu_memory_limit);
  Components found(host.memory);
  run(call, edges, host, found.nodes, found.components);
  return found;
}

CallResult serve_components(const Call &call) {
  const EdgeList edges = edges_of(call);
  const Components found = graphs_of(call).components(edges, host_of(call));
  call.give_all(0, found.nodes);
  call.give_all(1, found.components);
  return {};
}

// The numbers: how edges are used, damping, tolerance, and for random walks coupons, of which others have
// none, and the seed.
Ranks ServiceGraphs::pagerank_power(const EdgeList &edges, EdgeUse use, double damping, double tolerance,
                                    const HostSide &host) {
  ServiceCall call(connect_, Function::pagerank, host.gpu_memory_limit);
  call.number(static_cast<uint64_t>(use)).number(std::bit_cast<uint64_t>(damping));
  call.number(std::bit_cast<uint64_t>(tolerance)).number(0).number(0);
  Ranks found(host.memory);
  run(call, edges, host, found.nodes, found.ranks);
  return found;
}

Ranks ServiceGraphs::pagerank_random_walk(const EdgeList &edges, EdgeUse use, double damping,
                                          uint32_t coupons, uint64_t seed, const HostSide &host) {
  ServiceCall call(connect_, Function::pagerank, host.gpu_memory_limit);
  call.number(static_cast<uint64_t>(use)).number(std::bit_cast<uint64_t>(damping));
  call.number(std::bit_cast<uint64_t>(1.0)).number(coupons).number(seed);
  Ranks found(host.memory);
  run(call, edges, host, found.nodes, found.ranks);
  return found;
}

CallResult serve_pagerank(const Call &call) {
  const uint64_t(&numbers)[most_call_numbers] = call.sent.numbers;
  const auto damping = std::bit_cast<double>(numbers[1]), tolerance = std::bit_cast<double>(numbers[2]);
  const uint64_t coupons = numbers[3], seed = numbers[4];
  if (numbers[0] > static_cast<uint64_t>(EdgeUse::simple) || !(damping >= 0 && damping < 1) ||
      !(tolerance > 0) || coupons > UINT32_MAX)
    throw_senseless();
  const auto use = static_cast<EdgeUse>(numbers[0]);
  const EdgeList edges = edges_of(call);
  const HostSide host = host_of(call);
  const Ranks found = coupons == 0 ? graphs_of(call).pagerank_power(edges, use, damping, tolerance, host)
                                   : graphs_of(call).pagerank_random_walk(
                                         edges, use, damping, static_cast<uint32_t>(coupons), seed, host);
  call.give_all(0, found.nodes);
  call.give_all(1, found.ranks);
  return {};
}

// The number: whether edges have weights. The arrays: those of the graph, without the names of its nodes. The
// result: both vectors, and the bound as a number.
Spectrum ServiceGraphs::leading_eigenvectors(const Graph &graph, const HostSide &host) {
  ServiceCall call(connect_, Function::spectrum, host.gpu_memory_limit);
  Spectrum found(host.memory);
  for (Buffer<double> *vector : {&found.first, &found.second}) {
    vector->resize(graph.node_count());
    call.output(vector->data(), vector->size());
  }
  call.number(graph.weighted() ? 1 : 0).input(graph.offsets).input(graph.targets).input(graph.weights);
  found.radius_bound = std::bit_cast<double>(call.run(host.pool.stop()).numbers[0]);
  return found;
}

CallResult serve_spectrum(const Call &call) {
  const Graph graph = graph_of(call);
  const Spectrum found = graphs_of(call).leading_eigenvectors(graph, host_of(call));
  call.give_all(0, found.first);
  call.give_all(1, found.second);
  CallResult result;
  result.numbers[0] = std::bit_cast<uint64_t>(found.radius_bound);
  return result;
}

}  // namespace simjoin
