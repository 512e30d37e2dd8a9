// Computations over graphs by the GPU service: both ends of the calls.
#pragma once

#include <utility>

#include "core/graph/graph_device.hpp"
#include "core/service/served_call.hpp"
#include "core/service/service_call.hpp"

namespace simjoin {

class ServiceGraphs final : public GraphDevice {
 public:
  explicit ServiceGraphs(Connect connect) : connect_(std::move(connect)) {}

  Components components(const EdgeList &edges, const HostSide &host) override;
  Ranks pagerank_power(const EdgeList &edges, EdgeUse use, double damping, double tolerance,
                       const HostSide &host) override;
  Ranks pagerank_random_walk(const EdgeList &edges, EdgeUse use, double damping, uint32_t coupons,
                             uint64_t seed, const HostSide &host) override;
  Spectrum leading_eigenvectors(const Graph &graph, const HostSide &host) override;

 private:
  const Connect connect_;
};

CallResult serve_components(const Call &call);
CallResult serve_pagerank(const Call &call);
CallResult serve_spectrum(const Call &call);

}  // namespace simjoin
